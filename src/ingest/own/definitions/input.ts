import { isSluiceError } from '../../../lib/errors.ts';
import { ownErrors } from '../errors.ts';
import type { OwnDefinition } from '../types.ts';
import { asJson } from './json.ts';
import { pointerOf } from './schema.ts';

const maxInputBytes = 256 * 1024;

/**
 * A job keeps its input as it was given, and each slice checks it anew: so code gets what the schema makes of it, such
 * as dates, and an input that a newer schema refuses is refused before any work.
 */
export async function checkInput(definition: OwnDefinition, input: unknown): Promise<unknown> {
  const result = await definition.input['~standard'].validate(input);
  if (result.issues === undefined) return result.value;
  const fields = result.issues
    .slice(0, 100)
    .map(({ path, message }) => ({ pointer: `/input${pointerOf(path)}`, message }));
  const [first] = fields;
  const place = first ? `${first.pointer}: ${first.message}` : 'it is refused';
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  throw ownErrors.raise.input_invalid(
    `The input does not fit ${definition.kind} ${definition.name}: ${place}${more}`,
    { fields },
  );
}

/** As it is stored. */
export function inputAsJson(input: unknown): unknown {
  try {
    return asJson(input, { what: 'The input', maxBytes: maxInputBytes });
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    throw ownErrors.raise.input_invalid(error.message, {
      fields: [{ pointer: '/input', message: error.message }],
    });
  }
}

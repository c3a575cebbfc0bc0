import { isUtf8 } from 'node:buffer';
import { jsonErrors, refuseDeepJson } from '../../lib/json-depth.ts';
import { type ParseJson, parseJsonInTurns } from '../../lib/json-in-turns.ts';
import { apiErrors } from '../errors.ts';

/** More would take hundreds of megabytes, and seconds of whoever walks through it. */
const bounds = { maxValues: 1_000_000, maxMembers: 20_000 };

/** The JSON of a request. A large one is read in turns: another tenant's request does not wait for all of it. */
export async function parseBody(bytes: Buffer, parse: ParseJson): Promise<unknown> {
  // Decoding would silently replace invalid bytes.
  if (!isUtf8(bytes)) throw apiErrors.raise.malformed_body('The body is not encoded as UTF-8');
  const parsed = await parseJsonInTurns(bytes, parse, bounds);
  if ('value' in parsed) return parsed.value;
  if (parsed.problem === 'too_deep') refuseDeepJson(bytes, 'The body');
  if (parsed.problem === 'too_many') {
    const { maxValues, maxMembers } = bounds;
    throw jsonErrors.raise.json_too_many_values(
      `The body has more than ${maxValues} values, or an object with more than ${maxMembers} members`,
      { details: { max_values: maxValues, max_members: maxMembers } },
    );
  }
  throw apiErrors.raise.malformed_body('The body is not a JSON document');
}

import { isStorable } from '../../../kernel/http/stored-text.ts';
import { ownErrors } from '../errors.ts';

/** The value as JSON gives it back, after `what` was checked: that it is JSON, can be stored, and is not too large. */
export function asJson<T>(value: T, { what, maxBytes }: { what: string; maxBytes: number }): T {
  if (value === undefined) return value;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw ownErrors.raise.not_json(`${what} is no JSON: ${(error as Error).message}`);
  }
  if (text === undefined) throw ownErrors.raise.not_json(`${what} is a ${typeof value}, and no JSON`);
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > maxBytes) {
    throw ownErrors.raise.not_json(
      `${what} has ${sizeBytes} bytes as JSON; at most ${maxBytes} are remembered`,
    );
  }
  const copy = JSON.parse(text) as T;
  if (isStorable(copy)) return copy;
  throw ownErrors.raise.not_json(
    `${what} has a NUL character, a broken surrogate pair or more than 64 levels, which PostgreSQL cannot store`,
  );
}

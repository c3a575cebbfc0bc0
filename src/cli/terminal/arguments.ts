import { readFile } from 'node:fs/promises';
import { apiKeyUserPrefix, isUsableId } from '../../kernel/tenancy/types.ts';
import { messageOf } from '../../lib/errors.ts';
import { UsageError } from './exit.ts';

/** A parser for a flag that takes a whole number. */
export function wholeNumber(flag: string, { min, max }: { min: number; max: number }) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new UsageError(`${flag} is "${text}". Allowed: a whole number from ${min} to ${max}.`);
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function parseJobId(text: string): string {
  if (uuid.test(text)) return text.toLowerCase();
  throw new UsageError(
    `The job is ${JSON.stringify(text)}. Allowed: the whole id of a job; \`sluice jobs list\` shows them.`,
  );
}

export function parseTenant(text: string): string {
  if (isUsableId(text)) return text;
  throw unusableId('--tenant', text);
}

export function parseUser(text: string): string {
  if (!isUsableId(text)) throw unusableId('--sub', text);
  if (!text.startsWith(apiKeyUserPrefix)) return text;
  throw new UsageError(
    `--sub is ${JSON.stringify(text)}. Ids that begin with ${apiKeyUserPrefix} belong to API keys.`,
  );
}

function unusableId(flag: string, text: string): UsageError {
  return new UsageError(
    `${flag} is ${JSON.stringify(text)}. Allowed: 1 to 200 characters, no control characters.`,
  );
}

const maxJsonBytes = 256 * 1024;

/** `{"a": 1}`, or `@a.json` for a file that holds it. Returns the JSON as it was written, and its value. */
export async function readJson(
  flag: string,
  { text, example }: { text: string; example: string },
): Promise<{ json: string; value: unknown }> {
  const allowed = `Allowed: JSON such as '${example}', or @file.`;
  const isFile = text.startsWith('@');
  const where = isFile ? text.slice(1) : flag;
  try {
    const json = isFile ? await readFile(where, 'utf8') : text;
    if (Buffer.byteLength(json) <= maxJsonBytes) return { json, value: JSON.parse(json) };
  } catch (error) {
    const what = error instanceof SyntaxError ? 'is no JSON' : 'cannot be read';
    throw new UsageError(`${where} ${what}: ${messageOf(error)}. ${allowed}`);
  }
  throw new UsageError(`${where} is too long. Allowed: at most ${maxJsonBytes} bytes.`);
}

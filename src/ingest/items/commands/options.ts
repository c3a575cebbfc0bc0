import { readFile } from 'node:fs/promises';
import { UsageError } from '../../../cli/terminal/exit.ts';
import { messageOf } from '../../../lib/errors.ts';

const maxOptionsBytes = 256 * 1024;

/** `{"rules": []}`, or `@rules.json` for a file that holds it. Answers the JSON as it was written. */
export async function readOptions(text: string): Promise<string> {
  const where = text.startsWith('@') ? text.slice(1) : '--options';
  const json = text.startsWith('@') ? await readOptionsFile(where) : text;
  if (Buffer.byteLength(json) > maxOptionsBytes) {
    throw new UsageError(`The options in ${where} are too long. Allowed: at most ${maxOptionsBytes} bytes.`);
  }
  try {
    JSON.parse(json);
    return json;
  } catch (error) {
    throw new UsageError(
      `${where} is no JSON: ${messageOf(error)}. Allowed: JSON such as '{"rules": []}', or @file.`,
    );
  }
}

async function readOptionsFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`The options in ${file} cannot be read: ${messageOf(error)}.`);
  }
}

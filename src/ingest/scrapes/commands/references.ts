import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { UsageError } from '../../../cli/terminal/exit.ts';
import { isMissing } from '../../../lib/durable-files.ts';

const maxBytes = 256 * 1024 * 1024;

/** References from a file or, for `-`, from the standard input: a JSON list, `{"references": […]}`, or a line each. */
export async function readReferences(file: string): Promise<object[]> {
  const text = await readText(file);
  const whole = parseWhole(text);
  const references = whole ?? parseLines(text);
  for (const [at, reference] of references.entries()) {
    if (typeof reference !== 'object' || reference === null || Array.isArray(reference)) {
      throw new UsageError(
        `Reference ${at + 1} is no object. Allowed: {"external_id", "url", "title", "content", "metadata"}.`,
      );
    }
  }
  return references as object[];
}

/** What one call takes. */
export const callLimits = {
  maxItems: 1_000,
  maxSize: 8 * 1024 * 1024,
  sizeOf: (reference: object) => JSON.stringify(reference).length,
};

async function readText(file: string): Promise<string> {
  if (file !== '-') await assertReadable(file);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes > maxBytes) throw new UsageError(`There are more than ${maxBytes} bytes. Split the file.`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}

async function assertReadable(file: string): Promise<void> {
  try {
    if ((await stat(file)).isFile()) return;
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new UsageError(`There is no file ${file}.`);
  }
  throw new UsageError(`${file} is no file.`);
}

/** Null when the text is not one JSON value. */
function parseWhole(text: string): unknown[] | null {
  const value = tryParse(text);
  if (value === undefined) return null;
  if (Array.isArray(value)) return value;
  const { references } = (value ?? {}) as { references?: unknown };
  return Array.isArray(references) ? references : [value];
}

function parseLines(text: string): unknown[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return [];
    const value = tryParse(line);
    if (value !== undefined) return [value];
    throw new UsageError(`Line ${at + 1} is no JSON. Allowed: a JSON list, or one reference per line.`);
  });
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The caller says what is wrong, or tries it line by line.
    return undefined;
  }
}

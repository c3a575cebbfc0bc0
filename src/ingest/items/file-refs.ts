import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { itemErrors } from './errors.ts';
import type { ItemForm } from './multipart.ts';

const body = z.strictObject({
  fileRef: z.strictObject({ adapter: z.literal('folder'), key: z.string().min(1).max(1_000) }),
  processor: z.string().default('noop'),
  options: z.unknown().optional(),
});

/** A file that lies below the operator's folder already; where a link leads is looked at, not where it seems to be. */
export async function openFileRef(given: unknown, { folder }: { folder: string | null }): Promise<ItemForm> {
  const parsed = body.safeParse(given);
  if (!parsed.success) {
    throw itemErrors.raise.form_invalid('The body is neither a form with a file nor JSON with a fileRef', {
      fields: parsed.error.issues.map((issue) => ({
        pointer: `/${issue.path.join('/')}`,
        message: issue.message,
      })),
    });
  }
  const { fileRef, processor, options } = parsed.data;
  if (folder === null) throw itemErrors.raise.file_ref_refused('No folder is configured on this server');
  const file = await resolveBelow(folder, fileRef.key);
  return {
    processor,
    options: options ?? {},
    file: { fileName: path.basename(file), mediaType: null, content: createReadStream(file) },
  };
}

async function resolveBelow(folder: string, key: string): Promise<string> {
  const refused = itemErrors.raise.file_ref_refused(
    `There is no file ${JSON.stringify(key)} below the folder`,
  );
  if (key.includes('\0') || path.isAbsolute(key)) throw refused;
  const root = await realpath(folder).catch(() => null);
  const file = root === null ? null : await realpath(path.join(root, key)).catch(() => null);
  if (root === null || file === null || !file.startsWith(`${root}${path.sep}`)) throw refused;
  if (!(await stat(file)).isFile()) throw refused;
  return file;
}

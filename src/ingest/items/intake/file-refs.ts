import { createReadStream } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { findBelow, tenantFolder } from '../../../kernel/files/folder.ts';
import { encodings } from '../../../lib/rows/text-source.ts';
import { itemErrors } from '../errors.ts';
import { columnMapping } from './column-mapping.ts';
import type { ItemSource } from './form.ts';

const body = z.strictObject({
  fileRef: z.strictObject({ adapter: z.literal('folder'), key: z.string().min(1).max(1_000) }),
  processor: z.string().optional(),
  options: z.unknown().optional(),
  sheet: z.string().max(100).optional(),
  template: z.string().max(64).optional(),
  strict: z.boolean().default(false),
  encoding: z.enum(encodings).optional(),
  headerLine: z.number().int().min(1).max(1_000).optional(),
  mapping: columnMapping.nullable().default(null),
});

/** Opens a file in the tenant's folder inside the operator's folder. */
export async function openFileRef(
  given: unknown,
  { folder, tenantId }: { folder: string | null; tenantId: string },
): Promise<ItemSource> {
  const parsed = body.safeParse(given);
  if (!parsed.success) {
    throw itemErrors.raise.form_invalid('The body is neither a form with a file nor JSON with a fileRef', {
      fields: parsed.error.issues.map((issue) => ({
        pointer: `/${issue.path.join('/')}`,
        message: issue.message,
      })),
    });
  }
  const { fileRef, processor = null, options, sheet = null, template, ...reading } = parsed.data;
  if (folder === null) {
    throw itemErrors.raise.file_ref_refused('No folder is configured on this server (INGEST_FOLDER)');
  }
  const file = await findBelow(tenantFolder(folder, tenantId), fileRef.key);
  if (file === null) {
    throw itemErrors.raise.file_ref_refused(
      `There is no file ${JSON.stringify(fileRef.key)} in the tenant’s folder below INGEST_FOLDER`,
    );
  }
  return {
    fields: () => ({
      processor,
      options,
      sheet,
      reading: { ...reading, encoding: reading.encoding, headerLine: reading.headerLine },
    }),
    file: { fileName: path.basename(file), mediaType: null, content: createReadStream(file) },
    more: async () => null,
    text: (name) => (name === 'template' ? template : undefined),
  };
}

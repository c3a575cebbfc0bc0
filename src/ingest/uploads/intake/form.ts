import { createReadStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findBelow, tenantFolder } from '../../../kernel/files/folder.ts';
import { forgetUnlessCommitted } from '../../../kernel/files/service.ts';
import type { StoredContent } from '../../../kernel/files/types.ts';
import { dropRest, FormReader } from '../../../kernel/http/multipart.ts';
import { uploadErrors } from '../errors.ts';
import { ownNames } from '../platforms/service.ts';
import { allowedParts, type IntakeFields, readFilename, readIntakeFields } from './fields.ts';
import { type FileField, fileProblem, type IntakeDeps, storeContent } from './intake.ts';

export interface ReceivedUpload {
  fields: IntakeFields;
  filename: string | null;
  stored: StoredContent;
  fileField: FileField;
}

/**
 * Reads the whole form: fields and file in any order. The file goes to the storage as it arrives, and is removed again
 * if the form turns out to be wrong.
 */
export async function receiveForm(
  deps: IntakeDeps,
  request: FastifyRequest,
  tenantId: string,
): Promise<ReceivedUpload> {
  let stored: StoredContent | null = null;
  try {
    const form = new FormReader(request, {
      // Unknown fields are reported together with everything else that is wrong.
      fields: null,
      maxFieldBytes: 256 * 1024,
      maxFiles: 1,
      filePart: 'file',
      allowed: allowedParts,
      errors: { invalid: uploadErrors.raise.upload_form_invalid },
    });
    const file = await form.nextFile();
    if (file !== null) {
      stored = await storeContent(deps, Readable.from(file.content));
      await form.nextFile();
    }
    const fields = readIntakeFields(form.texts(), await ownNames(deps, tenantId));
    if (file === null || stored === null) {
      throw uploadErrors.raise.upload_file_missing('The form has no part named file', {
        fields: fileProblem(deps, { what: 'is required' }),
      });
    }
    const filename = fields.filename ?? readFilename(file.fileName);
    return { fields, filename, stored, fileField: 'file' };
  } catch (error) {
    dropRest(request);
    if (stored) await forgetUnlessCommitted(deps.files, stored.storageKey, error);
    throw error;
  }
}

const referenced = z.looseObject({
  file_ref: z.strictObject({ adapter: z.literal('folder'), key: z.string().min(1).max(1_000) }),
});

/** JSON with a reference to a file that lies in the tenant's folder below the operator's already. */
export async function receiveReference(
  deps: IntakeDeps & { ingestFolder: string | null },
  { body, tenantId }: { body: unknown; tenantId: string },
): Promise<ReceivedUpload> {
  const parsed = referenced.safeParse(body);
  if (!parsed.success) {
    throw uploadErrors.raise.upload_file_missing(
      'The body is neither a form with a part named file nor JSON with a file_ref {adapter: "folder", key}',
      {
        fields: parsed.error.issues.map(({ path: at, message }) => ({
          pointer: `/${at.join('/')}`,
          message: at.length === 1 ? 'file_ref must be {adapter: "folder", key}' : message,
        })),
      },
    );
  }
  const { file_ref: reference, ...given } = parsed.data;
  const fields = readIntakeFields(given, await ownNames(deps, tenantId));
  const { ingestFolder: folder } = deps;
  if (folder === null) {
    throw uploadErrors.raise.upload_file_ref_refused(
      'No folder is configured on this server (INGEST_FOLDER)',
      {
        fields: [
          { pointer: '/file_ref', message: 'is not possible here: send the file as multipart/form-data' },
        ],
      },
    );
  }
  const file = await findBelow(tenantFolder(folder, tenantId), reference.key);
  if (file === null) {
    throw uploadErrors.raise.upload_file_ref_refused(
      `There is no file ${JSON.stringify(reference.key)} in the tenant’s folder below INGEST_FOLDER`,
      {
        fields: [
          { pointer: '/file_ref/key', message: 'must name a file in the tenant’s folder, by its path there' },
        ],
      },
    );
  }
  const filename = fields.filename ?? readFilename(path.basename(file));
  const fileField = 'file_ref';
  return { fields, filename, fileField, stored: await storeContent(deps, createReadStream(file), fileField) };
}

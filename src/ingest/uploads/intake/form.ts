import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { Multipart } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findBelow, tenantFolder } from '../../../kernel/files/folder.ts';
import { forgetUnlessCommitted } from '../../../kernel/files/service.ts';
import type { StoredContent } from '../../../kernel/files/types.ts';
import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import { uploadErrors } from '../errors.ts';
import { allowedParts, type IntakeFields, readFilename, readIntakeFields } from './fields.ts';
import { type FileField, fileProblem, type IntakeDeps, storeContent } from './intake.ts';

export interface ReceivedUpload {
  fields: IntakeFields;
  filename: string | null;
  stored: StoredContent;
  fileField: FileField;
}

const maxFields = 20;
const maxFieldBytes = 256 * 1024;

/**
 * Reads the whole form: fields and file in any order. The file goes to the storage as it arrives; if anything is
 * wrong with the form in the end, it is taken away again.
 */
export async function receiveForm(deps: IntakeDeps, request: FastifyRequest): Promise<ReceivedUpload> {
  if (!/;\s*boundary=/i.test(request.headers['content-type'] ?? '')) {
    throw uploadErrors.raise.upload_form_invalid('The content type of the form names no boundary');
  }
  const given = new Map<string, string>();
  let file: { filename: string | null; stored: StoredContent } | null = null;
  try {
    for await (const part of partsOf(request)) {
      if (part.type === 'field') given.set(part.fieldname, readField(part, given));
      else if (part.fieldname !== 'file')
        throw wrongPart(part.fieldname, 'must not be a file: only file is one');
      else file = { filename: part.filename || null, stored: await storeContent(deps, part.file) };
    }
    const fields = readIntakeFields(Object.fromEntries(given));
    if (!file) {
      throw uploadErrors.raise.upload_file_missing('The form has no part named file', {
        fields: fileProblem(deps, { what: 'is required' }),
      });
    }
    const filename = fields.filename ?? readFilename(file.filename);
    return { fields, filename, stored: file.stored, fileField: 'file' };
  } catch (error) {
    // Of a refused form the rest is read and dropped: a sender that is not read from would wait for ever.
    request.raw.unpipe();
    request.raw.resume();
    if (file) await forgetUnlessCommitted({ files: deps.files, storageKey: file.stored.storageKey, error });
    throw brokenForm(error);
  }
}

/** No limit for the file: the storage counts its bytes and says in our words when they are too many. */
function partsOf(request: FastifyRequest): AsyncIterable<Multipart> {
  const fileSize = Number.POSITIVE_INFINITY;
  const limits = { fields: maxFields, fieldSize: maxFieldBytes, files: 1, fileSize, parts: 30 };
  return request.parts({ limits });
}

function readField(part: Extract<Multipart, { type: 'field' }>, earlier: Map<string, string>): string {
  const { fieldname: name, value, valueTruncated } = part;
  if (name === 'file') throw wrongPart(name, 'must be a file: give the part a filename');
  if (earlier.has(name)) throw wrongPart(name, 'may be there only once');
  if (valueTruncated) throw wrongPart(name, `must not have more than ${maxFieldBytes} bytes`);
  // A part that is declared as JSON was parsed with the form.
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function wrongPart(name: string, message: string): SluiceError {
  return uploadErrors.raise.upload_form_invalid(`The part ${JSON.stringify(name.slice(0, 80))} ${message}`, {
    fields: [{ pointer: `/${name.slice(0, 80)}`, message }],
  });
}

/** What the parser of forms says, in our words. An error of the server's own stays what it is. */
function brokenForm(error: unknown): unknown {
  if (isSluiceError(error) || !(error instanceof Error)) return error;
  const { code = '' } = error as { code?: string };
  if (code === 'FST_FILES_LIMIT') return wrongPart('file', 'must be one file: upload several one by one');
  if (code in partProblems) {
    return uploadErrors.raise.upload_form_invalid(`${partProblems[code]}; ${allowedParts}`, { cause: error });
  }
  if (!isCutOff(error)) return error;
  return uploadErrors.raise.upload_form_invalid(
    `The form ended before its last boundary, or is none: ${messageOf(error)}`,
    { cause: error },
  );
}

const partProblems: Record<string, string> = {
  FST_FIELDS_LIMIT: `The form has more than ${maxFields} fields`,
  FST_PARTS_LIMIT: 'The form has more than 30 parts',
  FST_PROTO_VIOLATION: 'The form has a part with a name that no part may have',
  FST_INVALID_JSON_FIELD_ERROR: 'A field of the form is declared as JSON and is not JSON',
};

/** The parser has no codes for these; the socket has. */
function isCutOff(error: Error): boolean {
  const { code = '' } = error as { code?: string };
  return /^(ECONNRESET|ERR_STREAM_PREMATURE_CLOSE)$/.test(code) || cutOffWords.test(error.message);
}

const cutOffWords = /unexpected end|premature close|malformed|aborted|boundary/i;

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
  const fields = readIntakeFields(given);
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

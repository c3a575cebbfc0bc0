import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { forgetUnlessCommitted } from '../../../kernel/files/service.ts';
import type { Files, StoredContent } from '../../../kernel/files/types.ts';
import { dropRest, type FormFile, FormReader, quoted } from '../../../kernel/http/multipart.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { knowledgeErrors } from '../errors.ts';
import { allowForm, labelsOfForm, metadataForm } from '../labels/form.ts';
import type { Labels } from '../labels/types.ts';

export interface ReceivedForm {
  files: ReceivedFile[];
  /** What the form says of its files. */
  labels: Labels;
}

export interface ReceivedFile {
  name: string;
  mediaType: string | null;
  stored: StoredContent;
}

export interface DocumentFormDeps {
  files: Files;
  maxFileBytes: number;
}

const maxFilesPerForm = 500;
const maxNameBytes = 1_000;

/**
 * Reads a form with any number of files. Each goes to the storage as it arrives, and all are removed again if the form
 * turns out to be wrong.
 */
export async function receiveDocuments(
  deps: DocumentFormDeps,
  request: FastifyRequest,
): Promise<ReceivedForm> {
  const received = new Map<string, ReceivedFile>();
  try {
    const form = new FormReader(request, {
      fields: ['metadata', 'allow'],
      maxFieldBytes: 64 * 1024,
      maxFiles: maxFilesPerForm,
      filePart: null,
      // Files of one folder may have the same name in different places.
      keepsPaths: true,
      allowed: 'files, metadata and allow',
      errors: { invalid: knowledgeErrors.raise.knowledge_form_invalid },
    });
    for (let file = await form.nextFile(); file !== null; file = await form.nextFile()) {
      const name = nameOf(file, form);
      if (received.has(name)) throw form.refuse(`The form has two files named ${quoted(name)}`);
      const stored = await storeContent(deps, file);
      received.set(name, { name, mediaType: mediaTypeOf(file), stored });
    }
    if (received.size === 0) throw knowledgeErrors.raise.knowledge_file_missing('The form has no file');
    return { files: [...received.values()], labels: labelsIn(form) };
  } catch (error) {
    dropRest(request);
    await forgetFiles(deps, [...received.values()], error);
    throw error;
  }
}

const labelFields = z.object({ metadata: metadataForm.optional(), allow: allowForm.optional() });

function labelsIn(form: FormReader): Labels {
  const read = labelFields.safeParse({ metadata: form.json('metadata'), allow: form.json('allow') });
  if (read.success) return labelsOfForm(read.data);
  const [issue] = read.error.issues;
  const name = issue?.path.join('/') ?? 'metadata';
  throw form.refuse(`The field ${quoted(name)} is not valid: ${issue?.message}`, {
    name,
    message: issue?.message ?? 'is not valid',
  });
}

/** Takes the bytes away, unless the row that names them may be there. */
export async function forgetFiles(
  { files }: Pick<DocumentFormDeps, 'files'>,
  received: readonly ReceivedFile[],
  error: unknown = null,
): Promise<void> {
  for (const { stored } of received) {
    await forgetUnlessCommitted(files, stored.storageKey, error);
  }
}

/** A label and never a path of this machine; still nothing that looks like a way out is kept. */
function nameOf({ fileName }: FormFile, form: FormReader): string {
  const name = (fileName ?? '').replaceAll('\\', '/').replace(/^(?:\.?\/)+/, '');
  const isFine =
    name !== '' &&
    Buffer.byteLength(name) <= maxNameBytes &&
    !/[\p{Cc}\p{Surrogate}]/u.test(name) &&
    !name.split('/').includes('..');
  if (isFine) return name;
  throw form.refuse(
    `A file is named ${quoted(fileName ?? '')}; allowed are 1 to ${maxNameBytes} bytes without control ` +
      'characters and without ..',
  );
}

function mediaTypeOf({ mediaType }: FormFile): string | null {
  const type = mediaType ?? '';
  const isTelling = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(type) && type !== 'application/octet-stream';
  return isTelling ? type.toLowerCase() : null;
}

async function storeContent(deps: DocumentFormDeps, file: FormFile): Promise<StoredContent> {
  const { maxFileBytes: maxBytes } = deps;
  try {
    return await deps.files.store(Readable.from(file.content), { maxBytes });
  } catch (error) {
    if (!isSluiceError(error) || error.code !== 'file_too_large') throw error;
    throw knowledgeErrors.raise.knowledge_file_too_large(
      `The file ${quoted(file.fileName ?? '')} has more than ${maxBytes} bytes, the most allowed`,
      { details: { max_bytes: maxBytes }, cause: error },
    );
  }
}

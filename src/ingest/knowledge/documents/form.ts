import type { Multipart, MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { forgetUnlessCommitted } from '../../../kernel/files/service.ts';
import type { Files, StoredContent } from '../../../kernel/files/types.ts';
import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import { knowledgeErrors } from '../errors.ts';

export interface ReceivedFile {
  name: string;
  mediaType: string | null;
  stored: StoredContent;
}

export interface DocumentFormDeps {
  files: Files;
  maxFileBytes: number;
}

export const maxFilesPerForm = 500;
const maxNameBytes = 1_000;

/**
 * Reads a form with any number of files; each goes to the storage as it arrives. If anything is wrong with the form
 * in the end, all of them are taken away again.
 */
export async function receiveDocuments(
  deps: DocumentFormDeps,
  request: FastifyRequest,
): Promise<ReceivedFile[]> {
  const received = new Map<string, ReceivedFile>();
  try {
    if (!request.isMultipart() || !/;\s*boundary=/i.test(request.headers['content-type'] ?? '')) {
      throw formInvalid('The body is no multipart form with a boundary');
    }
    for await (const part of partsOf(request)) {
      if (part.type === 'field') throw formInvalid(`The form has a field ${quoted(part.fieldname)}`);
      const name = nameOf(part);
      if (received.has(name)) throw formInvalid(`The form has two files named ${quoted(name)}`);
      const stored = await storeContent(deps, part);
      received.set(name, { name, mediaType: mediaTypeOf(part), stored });
    }
    if (received.size === 0) throw knowledgeErrors.raise.knowledge_file_missing('The form has no file');
    return [...received.values()];
  } catch (error) {
    // Of a refused form the rest is read and dropped: a sender that is not read from would wait for ever.
    request.raw.unpipe();
    request.raw.resume();
    await forgetFiles(deps, [...received.values()], error);
    throw brokenForm(error);
  }
}

/** Takes the bytes away, unless the row that names them may be there. */
export async function forgetFiles(
  { files }: Pick<DocumentFormDeps, 'files'>,
  received: readonly ReceivedFile[],
  error: unknown = null,
): Promise<void> {
  for (const { stored } of received) {
    await forgetUnlessCommitted({ files, storageKey: stored.storageKey, error });
  }
}

function partsOf(request: FastifyRequest): AsyncIterable<Multipart> {
  const limits = {
    fields: 20,
    fieldSize: 64 * 1024,
    files: maxFilesPerForm,
    // The storage counts the bytes and says in our words when they are too many.
    fileSize: Number.POSITIVE_INFINITY,
    parts: maxFilesPerForm + 20,
  };
  // The path is kept: files of one folder may have the same name in different places.
  return request.parts({ limits, preservePath: true });
}

/** A label and never a path of this machine; still nothing that looks like a way out is kept. */
function nameOf({ filename }: MultipartFile): string {
  const name = (filename ?? '').replaceAll('\\', '/').replace(/^(?:\.?\/)+/, '');
  const isFine =
    name !== '' &&
    Buffer.byteLength(name) <= maxNameBytes &&
    !/[\p{Cc}\p{Surrogate}]/u.test(name) &&
    !name.split('/').includes('..');
  if (isFine) return name;
  throw formInvalid(
    `A file is named ${quoted(filename ?? '')}; allowed are 1 to ${maxNameBytes} bytes without control ` +
      'characters and without ..',
  );
}

function mediaTypeOf({ mimetype }: MultipartFile): string | null {
  const isTelling =
    /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(mimetype) && mimetype !== 'application/octet-stream';
  return isTelling ? mimetype.toLowerCase() : null;
}

async function storeContent(deps: DocumentFormDeps, part: MultipartFile): Promise<StoredContent> {
  const { maxFileBytes: maxBytes } = deps;
  try {
    return await deps.files.store(part.file, { maxBytes });
  } catch (error) {
    if (!isSluiceError(error) || error.code !== 'file_too_large') throw error;
    throw knowledgeErrors.raise.knowledge_file_too_large(
      `The file ${quoted(part.filename ?? '')} has more than ${maxBytes} bytes, the most allowed`,
      { details: { max_bytes: maxBytes }, cause: error },
    );
  }
}

/** What the parser of forms says, in our words. An error of the server's own stays what it is. */
function brokenForm(error: unknown): unknown {
  if (isSluiceError(error) || !(error instanceof Error)) return error;
  const { code = '' } = error as { code?: string };
  const problem = partProblems[code];
  if (problem !== undefined) return formInvalid(problem, error);
  const isCutOff = /^(ECONNRESET|ERR_STREAM_PREMATURE_CLOSE)$/.test(code) || cutOffWords.test(error.message);
  if (!isCutOff) return error;
  return formInvalid(`The form ended before its last boundary, or is none: ${messageOf(error)}`, error);
}

const cutOffWords = /unexpected end|premature close|malformed|aborted|boundary/i;

const partProblems: Record<string, string> = {
  FST_FILES_LIMIT: `The form has more than ${maxFilesPerForm} files; send them in several forms`,
  FST_FIELDS_LIMIT: 'The form has fields',
  FST_PARTS_LIMIT: `The form has more than ${maxFilesPerForm} parts; send them in several forms`,
  FST_PROTO_VIOLATION: 'The form has a part with a name that no part may have',
  FST_INVALID_JSON_FIELD_ERROR: 'A field of the form is declared as JSON and is not JSON',
};

function formInvalid(message: string, cause?: unknown): SluiceError {
  return knowledgeErrors.raise.knowledge_form_invalid(`${message}; allowed are files`, { cause });
}

const quoted = (text: string): string => JSON.stringify([...text.slice(0, 200)].slice(0, 80).join(''));

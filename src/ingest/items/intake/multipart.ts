import type { Multipart, MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import { itemErrors } from '../errors.ts';
import type { ArrivingFile } from '../images/open-images.ts';
import { imageLimits } from '../images/types.ts';

/** Fields may come behind the files, so what they say is final only when `more` has answered null. */
export interface ItemForm {
  /** Null: the usual one for what the file turns out to be. */
  readonly processor: string | null;
  /** Undefined: not said. */
  readonly options: unknown;
  /** Of a workbook: the name of a sheet, or its number. */
  readonly sheet: string | null;
  file: ArrivingFile;
  /** The file after the one that was read to its end; null when the form has ended as it should. */
  more(): Promise<ArrivingFile | null>;
}

const maxFieldBytes = 256 * 1024;
const fieldNames: readonly string[] = ['processor', 'options', 'sheet'];
const allowedParts = 'processor, options, sheet, file';

type Parts = AsyncIterator<Multipart>;

/**
 * Reads the form up to its first file; the files are then read as they arrive, by whoever takes their content. Nothing
 * of them is buffered. Fields that come first let a wrong request be refused before its file is read.
 */
export async function readItemForm(
  request: FastifyRequest,
  limits: { maxFileBytes: number },
): Promise<ItemForm> {
  const parts = openParts(request, limits);
  const fields = new Map<string, unknown>();
  const nextFile = async () => {
    const part = await readFields(parts, fields);
    return part === null ? null : openFile(part, limits);
  };
  const file = await nextFile();
  if (file === null) throw itemErrors.raise.file_missing('The form has no part named file');
  return {
    get processor() {
      return textOf(fields, 'processor');
    },
    get options() {
      return fields.get('options');
    },
    get sheet() {
      return textOf(fields, 'sheet');
    },
    file,
    more: nextFile,
  };
}

/** Keeps the fields up to the next file, which it answers; null when the form has ended. */
async function readFields(parts: Parts, fields: Map<string, unknown>): Promise<MultipartFile | null> {
  for (let part = await nextPart(parts); part !== null; part = await nextPart(parts)) {
    if (part.type === 'file') return part;
    checkField(part, fields);
    fields.set(part.fieldname, part.fieldname === 'options' ? parseOptions(part.value) : part.value);
  }
  return null;
}

function textOf(fields: Map<string, unknown>, name: string): string | null {
  const value = fields.get(name);
  return value === undefined ? null : String(value);
}

function openFile(part: MultipartFile, limits: { maxFileBytes: number }): ArrivingFile {
  checkFile(part);
  return {
    fileName: readFileName(part.filename),
    mediaType: part.mimetype || null,
    content: whole(part.file, limits),
  };
}

function openParts(request: FastifyRequest, { maxFileBytes }: { maxFileBytes: number }): Parts {
  if (!/;\s*boundary=/i.test(request.headers['content-type'] ?? '')) {
    throw itemErrors.raise.form_invalid('The content type of the form names no boundary');
  }
  const files = imageLimits.images;
  const limits = { fields: 20, fieldSize: maxFieldBytes, files, fileSize: maxFileBytes, parts: files + 30 };
  return request.parts({ limits })[Symbol.asyncIterator]();
}

async function nextPart(parts: Parts): Promise<Multipart | null> {
  try {
    const next = await parts.next();
    return next.done === true ? null : next.value;
  } catch (error) {
    throw brokenForm(error);
  }
}

function checkField(part: Extract<Multipart, { type: 'field' }>, earlier: Map<string, unknown>): void {
  const { fieldname: name, valueTruncated } = part;
  const pointer = `/${name}`;
  if (!fieldNames.includes(name)) {
    throw formInvalid(`The form has a field ${quoted(name)}; allowed are ${allowedParts}`, {
      pointer,
      message: 'is not known',
    });
  }
  if (earlier.has(name)) {
    throw formInvalid(`The form has the field ${name} twice; one of them would be lost`, {
      pointer,
      message: 'may be there once',
    });
  }
  if (valueTruncated) {
    throw itemErrors.raise.upload_too_large(
      `The field ${name} is larger than ${maxFieldBytes} bytes, the most allowed for a field`,
      { details: { max_bytes: maxFieldBytes }, fields: [{ pointer, message: 'is too large' }] },
    );
  }
}

/** Encodings of parts are from the days of mail. What is not sent as it is would be read as something else. */
const plainEncodings = ['7bit', '8bit', 'binary'];

function checkFile({ fieldname, encoding }: MultipartFile): void {
  if (fieldname !== 'file') {
    throw itemErrors.raise.form_invalid(
      `The part ${quoted(fieldname)} has a file; only the part file may have one`,
    );
  }
  if (!plainEncodings.includes(encoding.toLowerCase())) {
    throw itemErrors.raise.form_invalid(
      `The part file has the content-transfer-encoding ${quoted(encoding)}; send the bytes as they are`,
    );
  }
}

const maxNameLength = 500;

/** A name that cannot be kept as it is would be another file's. */
function readFileName(given: string | undefined): string | null {
  if (!given) return null;
  if (given.length <= maxNameLength && !/[\0\p{Surrogate}]/u.test(given)) return given;
  throw formInvalid(
    `The name of the file is not allowed: at most ${maxNameLength} characters, without NUL and half characters`,
    { pointer: '/file', message: 'has a name that is not allowed' },
  );
}

function parseOptions(given: unknown): unknown {
  // A field that is declared as JSON was parsed with the form.
  if (typeof given === 'object' && given !== null) return given;
  const text = String(given ?? '');
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw formInvalid('The field options is not JSON', { pointer: '/options', message: 'must be JSON' });
  }
}

async function* whole(
  file: AsyncIterable<Uint8Array> & { truncated?: boolean },
  { maxFileBytes }: { maxFileBytes: number },
): AsyncGenerator<Uint8Array> {
  try {
    yield* file;
  } catch (error) {
    throw brokenForm(error);
  }
  // The parser stops at the limit and says so afterwards: then what was read is not the file.
  if (file.truncated) {
    throw itemErrors.raise.upload_too_large(
      `The file is larger than ${maxFileBytes} bytes, the most allowed`,
      { details: { max_bytes: maxFileBytes } },
    );
  }
}

/** What the parser says about a form, in our words. What it does not know is a form that ended too early. */
function brokenForm(error: unknown): SluiceError {
  if (isSluiceError(error)) return error;
  const problem = partProblems[(error as { code?: string }).code ?? ''];
  if (problem !== undefined) return itemErrors.raise.form_invalid(problem, { cause: error });
  return itemErrors.raise.upload_aborted(
    `The form ended before its last boundary, or is none: ${messageOf(error)}`,
    { cause: error },
  );
}

const partProblems: Record<string, string> = {
  FST_FILES_LIMIT: `The form has more than ${imageLimits.images} files, the most that a job is made of`,
  FST_FIELDS_LIMIT: `The form has more than 20 fields; allowed are ${allowedParts}`,
  FST_PARTS_LIMIT: `The form has too many parts; allowed are ${allowedParts}`,
  FST_PROTO_VIOLATION: `The form has a part with a name that no part may have; allowed are ${allowedParts}`,
  FST_INVALID_JSON_FIELD_ERROR: 'A field of the form is declared as JSON and is not JSON',
};

function formInvalid(message: string, field: { pointer: string; message: string }): SluiceError {
  return itemErrors.raise.form_invalid(message, { fields: [field] });
}

const quoted = (text: string): string => JSON.stringify([...text.slice(0, 200)].slice(0, 80).join(''));

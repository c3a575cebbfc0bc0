import type { Multipart, MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { type ErrorFactory, isSluiceError, messageOf, type SluiceError } from '../../lib/errors.ts';
import { refuseDeepJson } from '../../lib/json-depth.ts';

/** What a form may hold, and the errors that refuse one. */
export interface FormRules {
  /** The text fields that it may have, each once. Null: any; the house checks them together when all have arrived. */
  fields: readonly string[] | null;
  maxFieldBytes: number;
  maxFiles: number;
  /** Left out: the house stops reading a file that is too large. */
  maxFileBytes?: number;
  /** The only part that may hold a file. Null: every part may. */
  filePart: string | null;
  /** File names may be paths. */
  keepsPaths?: boolean;
  /** Completes the sentence "allowed are …". */
  allowed: string;
  errors: FormErrors;
}

export interface FormErrors {
  invalid: ErrorFactory;
  fieldTooLarge?: ErrorFactory;
  fileTooLarge?: ErrorFactory;
  /** The body ended before the form did. */
  cutOff?: ErrorFactory;
}

/** A file as it arrives: nothing of it is buffered, and it is read to its end before the next one. */
export interface FormFile {
  fileName: string | null;
  mediaType: string | null;
  content: AsyncGenerator<Uint8Array>;
}

const maxFields = 20;
/** Encodings of parts are from the days of mail; nobody decodes them, so other bytes than the file's would be read. */
const plainEncodings = ['7bit', '8bit', 'binary'];

/** Reads a multipart form: fields and files in any order. */
export class FormReader {
  readonly #rules: FormRules;
  readonly #parts: AsyncIterator<Multipart>;
  readonly #fields = new Map<string, unknown>();
  #fileCount = 0;

  constructor(request: FastifyRequest, rules: FormRules) {
    this.#rules = rules;
    if (!request.isMultipart() || !/;\s*boundary=/i.test(request.headers['content-type'] ?? '')) {
      throw this.refuse('The request is not multipart/form-data, or its content type names no boundary');
    }
    const { maxFieldBytes, maxFiles, maxFileBytes, keepsPaths = false } = rules;
    const limits = {
      fields: maxFields,
      fieldSize: maxFieldBytes,
      // Fields that are declared as JSON arrive as files, see `isFile`; `#openFile` counts the real ones.
      files: maxFiles + maxFields,
      fileSize: maxFileBytes ?? Number.POSITIVE_INFINITY,
      parts: maxFiles + maxFields + 10,
    };
    this.#parts = request
      .parts({ limits, isPartAFile: isFile, preservePath: keepsPaths })
      [Symbol.asyncIterator]();
  }

  /** Keeps the fields that come before the next file, and returns the file; null at the end of the form. */
  async nextFile(): Promise<FormFile | null> {
    for (let part = await this.#nextPart(); part !== null; part = await this.#nextPart()) {
      if (part.type === 'field') this.#keep(part, part.value);
      else if (part.filename === undefined && isJson(part.mimetype)) await this.#keepJson(part);
      else return this.#openFile(part);
    }
    return null;
  }

  /** The fields that have arrived so far, as text. A field that was declared as JSON was parsed when it arrived. */
  texts(): Record<string, string> {
    const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
    return Object.fromEntries([...this.#fields].map(([name, value]) => [name, text(value)]));
  }

  /** A field of JSON, if it has arrived; an empty one is an empty object. */
  json(name: string): unknown {
    const given = this.#fields.get(name);
    if (typeof given !== 'string') return given;
    if (given.trim() === '') return {};
    refuseDeepJson(given, `The field ${name}`);
    try {
      return JSON.parse(given);
    } catch {
      throw this.refuse(`The field ${name} is not JSON`, { name, message: 'must be JSON' });
    }
  }

  refuse(message: string, wrong?: { name: string; message: string }, cause?: unknown): SluiceError {
    const fields = wrong && [{ pointer: `/${wrong.name.slice(0, 80)}`, message: wrong.message }];
    return this.#rules.errors.invalid(message, { ...(fields && { fields }), cause });
  }

  #keep(field: Pick<MultipartValue, 'fieldname' | 'valueTruncated'>, value: unknown): void {
    this.#checkField(field);
    this.#fields.set(field.fieldname, value);
  }

  async #keepJson({ fieldname, file }: MultipartFile): Promise<void> {
    const bytes = await this.#read(file, this.#rules.maxFieldBytes);
    this.#checkField({ fieldname, valueTruncated: bytes === null });
    const given = bytes ?? Buffer.alloc(0);
    refuseDeepJson(given, `The field ${quoted(fieldname)}`);
    try {
      this.#fields.set(fieldname, JSON.parse(given.toString('utf8')));
    } catch (error) {
      throw this.refuse(
        `A field of the form is declared as JSON and is not JSON; allowed are ${this.#rules.allowed}`,
        undefined,
        error,
      );
    }
  }

  /** Null when there are more bytes than that. */
  async #read(content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | null> {
    const pieces: Uint8Array[] = [];
    let sizeBytes = 0;
    try {
      for await (const piece of content) {
        pieces.push(piece);
        sizeBytes += piece.length;
        if (sizeBytes > maxBytes) return null;
      }
    } catch (error) {
      throw this.#inOurWords(error);
    }
    return Buffer.concat(pieces);
  }

  #checkField({
    fieldname: name,
    valueTruncated,
  }: Pick<MultipartValue, 'fieldname' | 'valueTruncated'>): void {
    const { fields, filePart, maxFieldBytes, allowed, errors } = this.#rules;
    if (name === filePart) {
      const message = 'must be a file: give the part a filename';
      throw this.refuse(`The part ${quoted(name)} ${message}`, { name, message });
    }
    if (fields !== null && !fields.includes(name)) {
      const message = 'is not a field';
      throw this.refuse(`The form has a field ${quoted(name)}; allowed are ${allowed}`, { name, message });
    }
    if (this.#fields.has(name)) {
      throw this.refuse(`The form has the field ${quoted(name)} twice`, {
        name,
        message: 'may be sent only once',
      });
    }
    if (valueTruncated) {
      throw (errors.fieldTooLarge ?? errors.invalid)(
        `The field ${quoted(name)} is larger than ${maxFieldBytes} bytes, the most allowed for a field`,
        {
          details: { max_bytes: maxFieldBytes },
          fields: [
            { pointer: `/${name.slice(0, 80)}`, message: `must not have more than ${maxFieldBytes} bytes` },
          ],
        },
      );
    }
  }

  #openFile(part: MultipartFile): FormFile {
    const { fieldname: name, filename, mimetype, encoding } = part;
    const { filePart } = this.#rules;
    if (filePart !== null && name !== filePart) {
      const message = `must not be a file: only the part ${filePart} may be one`;
      throw this.refuse(`The part ${quoted(name)} ${message}`, { name, message });
    }
    if (!plainEncodings.includes(encoding.toLowerCase())) {
      throw this.refuse(
        `The part ${quoted(name)} has the content-transfer-encoding ${quoted(encoding)}; send the bytes as they are`,
      );
    }
    this.#fileCount += 1;
    if (this.#fileCount > this.#rules.maxFiles) throw this.#tooManyFiles();
    // A client may go away before anybody reads: unheard, the error would end the process. A reader still gets it.
    part.file.on('error', () => {});
    return { fileName: filename || null, mediaType: mimetype || null, content: this.#contentOf(part) };
  }

  async *#contentOf({ file }: MultipartFile): AsyncGenerator<Uint8Array> {
    try {
      yield* file;
    } catch (error) {
      throw this.#inOurWords(error);
    }
    // The parser stops at the limit and says so afterwards: then what was read is not the file.
    if (!file.truncated) return;
    const { maxFileBytes, errors } = this.#rules;
    throw (errors.fileTooLarge ?? errors.invalid)(
      `The file is larger than ${maxFileBytes} bytes, the most allowed`,
      { details: { max_bytes: maxFileBytes } },
    );
  }

  async #nextPart(): Promise<Multipart | null> {
    try {
      const next = await this.#parts.next();
      return next.done === true ? null : next.value;
    } catch (error) {
      throw this.#inOurWords(error);
    }
  }

  /** The parser has codes for its limits; whatever else it throws means that the body is broken. */
  #inOurWords(error: unknown): SluiceError {
    if (isSluiceError(error)) return error;
    const { allowed, errors } = this.#rules;
    const { code = '' } = error as { code?: string };
    if (code === 'FST_FILES_LIMIT') return this.#tooManyFiles(error);
    const problem = partProblems[code];
    if (problem !== undefined) return this.refuse(`${problem}; allowed are ${allowed}`, undefined, error);
    return (errors.cutOff ?? errors.invalid)(
      'The request body is not valid multipart: the final boundary is missing, or the connection broke off ' +
        `(${messageOf(error)})`,
      { cause: error },
    );
  }

  #tooManyFiles(cause?: unknown): SluiceError {
    const { maxFiles, filePart } = this.#rules;
    const most = maxFiles === 1 ? 'one file' : `${maxFiles} files`;
    const message = `must be at most ${most}; send more in further requests`;
    return this.refuse(`The form has more than ${most}`, { name: filePart ?? 'file', message }, cause);
  }
}

/**
 * The parser would parse a field that is declared as JSON before anybody could look at its depth. It leaves files
 * alone, so such a field is taken as one and read here.
 */
function isFile(_name: string | undefined, type: string | undefined, fileName: string | undefined): boolean {
  return fileName !== undefined || type === 'application/octet-stream' || isJson(type ?? '');
}

function isJson(type: string): boolean {
  return type.startsWith('application/json');
}

/** Reads and drops what is left of a refused request: a sender that nobody reads from would wait for ever. */
export function dropRest({ raw }: FastifyRequest): void {
  raw.unpipe();
  raw.resume();
}

const maxNameLength = 500;

/** The name of a file that is kept as it is: a name that had to be changed could be another file's. */
export function plainName({ fileName }: FormFile, form: FormReader): string | null {
  if (fileName === null) return null;
  if (fileName.length <= maxNameLength && !/[\0\p{Surrogate}]/u.test(fileName)) return fileName;
  throw form.refuse(
    `The name of the file is not allowed: it may have at most ${maxNameLength} characters, and no NUL or broken ` +
      'surrogate pair',
    { name: 'file', message: 'has a name that is not allowed' },
  );
}

/** Short enough for a message, and never cut inside a character. */
export const quoted = (text: string): string => JSON.stringify([...text.slice(0, 200)].slice(0, 80).join(''));

const partProblems: Record<string, string> = {
  FST_FIELDS_LIMIT: `The form has more than ${maxFields} fields`,
  FST_PARTS_LIMIT: 'The form has too many parts',
  FST_PROTO_VIOLATION: 'The form has a part with a name that no part may have',
};

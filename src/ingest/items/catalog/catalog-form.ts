import type { Multipart, MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import { catalogErrors } from './errors.ts';
import type { FieldColumns } from './types.ts';

export interface CatalogForm {
  fields: Partial<FieldColumns>;
  /** Of a workbook: the name of a sheet, or its number. */
  sheet: string | null;
  fileName: string | null;
  mediaType: string | null;
  content: AsyncIterable<Uint8Array>;
}

const maxFieldBytes = 16 * 1024;
const maxNameLength = 500;
const fieldNames: readonly string[] = ['fields', 'sheet'];
const allowedParts = 'fields, sheet and file, in this order';

type Parts = AsyncIterator<Multipart>;

/** Reads the form up to its file, which is then read as it arrives; nothing of it is buffered. */
export async function readCatalogForm(
  request: FastifyRequest,
  { maxFileBytes }: { maxFileBytes: number },
): Promise<CatalogForm> {
  if (!request.isMultipart() || !/;\s*boundary=/i.test(request.headers['content-type'] ?? '')) {
    throw formInvalid('The request is no form, or its content type names no boundary');
  }
  const limits = { fields: 3, fieldSize: maxFieldBytes, files: 1, fileSize: maxFileBytes, parts: 5 };
  const parts = request.parts({ limits })[Symbol.asyncIterator]();
  const given = new Map<string, unknown>();
  for (let part = await nextPart(parts); part !== null; part = await nextPart(parts)) {
    if (part.type === 'file') {
      const sheet = given.get('sheet');
      return {
        ...readFilePart(part),
        fields: readFields(given.get('fields') ?? ''),
        sheet: sheet === undefined ? null : String(sheet),
        content: untilEnd(part.file, { parts, maxFileBytes }),
      };
    }
    checkField(part, given);
    given.set(part.fieldname, part.value);
  }
  throw formInvalid('The form has no part named file');
}

function checkField({ fieldname, valueTruncated }: MultipartValue, given: Map<string, unknown>): void {
  if (!fieldNames.includes(fieldname)) {
    throw formInvalid(`The form has a field ${quoted(fieldname)}; allowed are ${allowedParts}`);
  }
  if (given.has(fieldname)) throw formInvalid(`The form has the field ${fieldname} twice`);
  if (valueTruncated) throw formInvalid(`The field ${fieldname} has more than ${maxFieldBytes} bytes`);
}

async function nextPart(parts: Parts): Promise<Multipart | null> {
  try {
    const next = await parts.next();
    return next.done === true ? null : next.value;
  } catch (error) {
    throw broken(error);
  }
}

const column = z.string().min(1).max(200).optional();
const fieldsSchema = z.strictObject({ sku: column, brand: column, title: column, gtin: column });

function readFields(given: unknown): Partial<FieldColumns> {
  let value = given;
  if (typeof given === 'string') {
    try {
      value = given.trim() === '' ? {} : JSON.parse(given);
    } catch {
      throw formInvalid('The field fields is not JSON', 'must be JSON');
    }
  }
  const parsed = fieldsSchema.safeParse(value);
  if (parsed.success) return parsed.data as Partial<FieldColumns>;
  throw formInvalid(
    'The field fields must be an object such as {"sku": "Article", "title": "Name"}; allowed: sku, brand, title, gtin',
    'must name columns for sku, brand, title or gtin',
  );
}

function readFilePart(part: MultipartFile): Pick<CatalogForm, 'fileName' | 'mediaType'> {
  if (part.fieldname !== 'file') {
    throw formInvalid(`The part ${quoted(part.fieldname)} has a file; only the part file may have one`);
  }
  const name = part.filename ?? '';
  if (name.length > maxNameLength || /[\0\p{Surrogate}]/u.test(name)) {
    throw formInvalid(
      `The name of the file is not allowed: at most ${maxNameLength} characters, without NUL and half characters`,
    );
  }
  return { fileName: name === '' ? null : name, mediaType: part.mimetype || null };
}

async function* untilEnd(
  file: AsyncIterable<Uint8Array> & { truncated?: boolean },
  { parts, maxFileBytes }: { parts: Parts; maxFileBytes: number },
): AsyncGenerator<Uint8Array> {
  try {
    yield* file;
  } catch (error) {
    throw broken(error);
  }
  if (file.truncated) {
    throw catalogErrors.raise.catalog_too_large(
      `The file is larger than ${maxFileBytes} bytes, the most allowed`,
      {
        details: { max_bytes: maxFileBytes },
      },
    );
  }
  const behind = await nextPart(parts);
  if (behind !== null) {
    throw formInvalid(`The part ${quoted(behind.fieldname)} comes after the file; send ${allowedParts}`);
  }
}

function broken(error: unknown): SluiceError {
  if (isSluiceError(error)) return error;
  const { code = '' } = error as { code?: string };
  const message = code.startsWith('FST_')
    ? `The form has more or other parts than it may have; send ${allowedParts}`
    : `The form ended before its last boundary, or is none: ${messageOf(error)}`;
  return catalogErrors.raise.catalog_form_invalid(message, { cause: error });
}

function formInvalid(message: string, field?: string): SluiceError {
  const fields = field === undefined ? {} : { fields: [{ pointer: '/fields', message: field }] };
  return catalogErrors.raise.catalog_form_invalid(message, fields);
}

const quoted = (text: string): string => JSON.stringify([...text.slice(0, 200)].slice(0, 80).join(''));

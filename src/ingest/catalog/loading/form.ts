import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type FormFile, FormReader, plainName } from '../../../kernel/http/multipart.ts';
import { catalogErrors } from '../errors.ts';
import type { FieldColumns } from '../types.ts';

export interface CatalogForm extends FormFile {
  fields: Partial<FieldColumns>;
  /** Of a workbook: the name of a sheet, or its number. */
  sheet: string | null;
}

const { catalog_form_invalid, catalog_too_large } = catalogErrors.raise;
const allowed = 'fields, sheet and file, in this order';

/** Reads the form up to its file, which the caller reads as it arrives. */
export async function readCatalogForm(
  request: FastifyRequest,
  { maxFileBytes }: { maxFileBytes: number },
): Promise<CatalogForm> {
  const form = new FormReader(request, {
    fields: ['fields', 'sheet'],
    maxFieldBytes: 16 * 1024,
    maxFiles: 1,
    maxFileBytes,
    filePart: 'file',
    allowed,
    errors: { invalid: catalog_form_invalid, fileTooLarge: catalog_too_large },
  });
  const file = await form.nextFile();
  if (file === null) throw form.refuse('The form has no part named file');
  const { sheet = null } = form.texts();
  return {
    ...file,
    fileName: plainName(file, form),
    fields: readFields(form),
    sheet,
    content: untilEnd(form, file),
  };
}

const column = z.string().min(1).max(200).optional();
const fieldsSchema = z.strictObject({ sku: column, brand: column, title: column, gtin: column });

function readFields(form: FormReader): Partial<FieldColumns> {
  const parsed = fieldsSchema.safeParse(form.json('fields') ?? {});
  if (parsed.success) return parsed.data as Partial<FieldColumns>;
  throw form.refuse(
    'The field fields must be an object such as {"sku": "Article", "title": "Name"}; allowed: sku, brand, title, gtin',
    { name: 'fields', message: 'must name columns for sku, brand, title or gtin' },
  );
}

/** The catalogue is replaced while the file arrives, so a field after it would come too late. */
async function* untilEnd(form: FormReader, { content }: FormFile): AsyncGenerator<Uint8Array> {
  const before = Object.keys(form.texts()).length;
  yield* content;
  await form.nextFile();
  if (Object.keys(form.texts()).length > before) {
    throw form.refuse(`A field comes after the file; send ${allowed}`);
  }
}

import type { FastifyRequest } from 'fastify';
import { FormReader, plainName } from '../../../kernel/http/multipart.ts';
import { itemErrors } from '../errors.ts';
import { type ArrivingFile, imageLimits } from '../images/types.ts';
import { parseReading, type Reading, readingFields } from './reading.ts';

/** What a request says about its files. */
export interface ItemFields {
  /** Null: the usual one for what the file turns out to be. */
  processor: string | null;
  /** Undefined: not given. */
  options: unknown;
  /** Of a workbook: the name of a sheet, or its number. */
  sheet: string | null;
  reading: Reading;
}

export interface ItemSource {
  /** The fields that have arrived so far: a form may have some after its files. */
  fields(): ItemFields;
  file: ArrivingFile;
  /** The next file, once the one before was read to its end; null at the end of the form. */
  more(): Promise<ArrivingFile | null>;
  /** A field that only some requests have, as it was sent: the name of a template, the number of rows to try. */
  text?(name: string): string | undefined;
}

const { form_invalid, upload_too_large, upload_aborted } = itemErrors.raise;

/**
 * Reads the form up to its first file; the ingest reads the files as they arrive. Fields that come first let a wrong
 * request be refused before its file is read.
 */
export async function readItemForm(
  request: FastifyRequest,
  { maxFileBytes, moreFields = [] }: { maxFileBytes: number; moreFields?: readonly string[] },
): Promise<ItemSource> {
  const form = new FormReader(request, {
    fields: ['processor', 'options', 'sheet', 'template', ...readingFields, ...moreFields],
    maxFieldBytes: 256 * 1024,
    maxFiles: imageLimits.images,
    maxFileBytes,
    filePart: 'file',
    allowed: ['processor, options, sheet, template, file', ...readingFields, ...moreFields].join(', '),
    errors: {
      invalid: form_invalid,
      fieldTooLarge: upload_too_large,
      fileTooLarge: upload_too_large,
      cutOff: upload_aborted,
    },
  });
  const more = async () => {
    const file = await form.nextFile();
    return file && { ...file, fileName: plainName(file, form) };
  };
  const file = await more();
  if (file === null) throw itemErrors.raise.file_missing('The form has no part named file');
  const fields = () => {
    const {
      processor = null,
      sheet = null,
      options: _options,
      template: _template,
      ...others
    } = form.texts();
    const given = Object.fromEntries(Object.entries(others).filter(([name]) => !moreFields.includes(name)));
    const mapping = form.json('mapping');
    return { processor, options: form.json('options'), sheet, reading: parseReading({ ...given, mapping }) };
  };
  return { fields, file, more, text: (name) => form.texts()[name] };
}

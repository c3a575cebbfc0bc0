import type { Files } from '../../../kernel/files/types.ts';
import { openInput } from '../../../lib/rows/open-rows.ts';
import type { RowReader } from '../../../lib/rows/types.ts';
import type { OpenWorkbook } from '../../../lib/rows/xlsx/workbook-readers.ts';
import { itemErrors } from '../errors.ts';
import { isImageFile, lookAt, openArchivedImages, openImages } from '../images/open-images.ts';
import type { ArrivingFile } from '../images/types.ts';
import type { JobSource } from '../types.ts';
import type { ItemSource } from './form.ts';

/** Looks at the first bytes to see what it is; names and declared types only break ties. */
export async function openSource(
  {
    files,
    maxUploadBytes,
    openWorkbook,
  }: { files: Files; maxUploadBytes: number; openWorkbook: OpenWorkbook },
  { file, more, fields }: ItemSource,
): Promise<JobSource> {
  const first = await lookAt(file);
  if (isImageFile(first)) return openImages({ files, maxUploadBytes, first, more });
  const input = await openInput(alone(first, more), {
    fileName: file.fileName ?? undefined,
    declaredType: file.mediaType ?? undefined,
    sheet: () => fields().sheet,
    openWorkbook,
  });
  if (input.kind === 'rows') return rowSource(input.reader, file.fileName);
  return openArchivedImages(input.archive, { files, fileName: file.fileName });
}

/** Rows and archives come alone. A further file would be lost, so the request is refused. */
async function* alone(
  { content }: ArrivingFile,
  more: () => Promise<ArrivingFile | null>,
): AsyncGenerator<Uint8Array> {
  yield* content;
  if ((await more()) === null) return;
  throw itemErrors.raise.form_invalid(
    'The form has more than one file; a job is made of one file of rows, of several images, or of one ZIP archive',
  );
}

function rowSource(reader: RowReader, fileName: string | null): JobSource {
  return {
    jobType: 'csv',
    columns: reader.columns,
    read: (maxRows, maxBytes) => reader.read(maxRows, maxBytes),
    written: () => {},
    discard: async () => {},
    close: () => reader.close(),
    describe: () => fileName,
  };
}

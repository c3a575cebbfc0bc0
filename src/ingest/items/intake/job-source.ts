import type { Files } from '../../../kernel/files/types.ts';
import { openInput } from '../../../lib/rows/open-rows.ts';
import type { ParsedRow, RowReader } from '../../../lib/rows/types.ts';
import { itemErrors } from '../errors.ts';
import {
  type ArrivingFile,
  type ImageReader,
  type ImageRow,
  isImageFile,
  lookAt,
  openArchivedImages,
  openImages,
} from '../images/open-images.ts';
import type { ItemJob } from '../types.ts';
import type { ItemSource } from './form.ts';

/** What a job is made of: a file of rows, or images. Both are read in rows, for one and the same ingest. */
export interface JobSource {
  readonly jobType: ItemJob['jobType'];
  readonly columns: readonly string[] | null;
  read(maxRows: number, maxBytes: number): Promise<ParsedRow[] | null>;
  /** These rows are written. */
  written(rows: readonly ParsedRow[]): void;
  /** The ingest has failed: what was kept beside the rows goes. */
  discard(): Promise<void>;
  close(): Promise<void>;
  /** What the job's file is called, once all of it was read. */
  describe(): string | null;
}

/** Looks at the first bytes to see what it is; names and declared types only break ties. */
export async function openSource(
  { files, maxUploadBytes }: { files: Files; maxUploadBytes: number },
  { file, more, fields }: ItemSource,
): Promise<JobSource> {
  const first = await lookAt(file);
  if (isImageFile(first)) return imageSource(openImages({ files, maxUploadBytes, first, more }));
  const input = await openInput(alone(first, more), {
    fileName: file.fileName ?? undefined,
    declaredType: file.mediaType ?? undefined,
    sheet: () => fields().sheet,
  });
  if (input.kind === 'rows') return rowSource(input.reader, file.fileName);
  return imageSource(openArchivedImages(input.archive, { files, fileName: file.fileName }));
}

/** The images among rows; of a file of rows none. */
export function imagesIn(rows: readonly ParsedRow[]): ImageRow['image'][] {
  return rows.flatMap((row) => ('image' in row ? [(row as ImageRow).image] : []));
}

/** Rows and archives come alone. What is behind them would be lost, so it makes the whole request wrong. */
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

function imageSource(reader: ImageReader): JobSource {
  return {
    jobType: 'image',
    columns: reader.columns,
    read: (maxRows) => reader.read(maxRows),
    written: (rows) => reader.named(rows as ImageRow[]),
    discard: () => reader.discard(),
    close: () => reader.close(),
    describe: () => reader.describe(),
  };
}

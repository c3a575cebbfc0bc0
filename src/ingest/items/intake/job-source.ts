import { isDeepStrictEqual } from 'node:util';
import type { Files } from '../../../kernel/files/types.ts';
import { type OpenInput, openInput } from '../../../lib/rows/open-rows.ts';
import type { ParsedRow, RowReader } from '../../../lib/rows/types.ts';
import type { OpenWorkbook } from '../../../lib/rows/xlsx/workbook-readers.ts';
import { itemErrors } from '../errors.ts';
import { isImageFile, lookAt, openArchivedImages, openImages } from '../images/open-images.ts';
import type { ArrivingFile } from '../images/types.ts';
import type { JobSource, RowsFile } from '../types.ts';
import { ColumnMapping } from './column-mapping.ts';
import type { ItemSource } from './form.ts';
import { MeasuredFile } from './measured-file.ts';
import type { Reading } from './reading.ts';

/** Looks at the first bytes to see what it is; names and declared types only break ties. */
export async function openSource(
  {
    files,
    maxUploadBytes,
    openWorkbook,
  }: { files: Files; maxUploadBytes: number; openWorkbook: OpenWorkbook },
  source: ItemSource,
): Promise<JobSource> {
  const { file, more } = source;
  const first = await lookAt(file);
  if (isImageFile(first)) return openImages({ files, maxUploadBytes, first, more });
  const input = await openAsRows(first, { source, openWorkbook });
  return input.kind === 'rows'
    ? input.rows
    : openArchivedImages(input.archive, { files, fileName: file.fileName });
}

/** For callers that store nothing. Refuses images. */
export async function openRowsOnly(source: ItemSource, openWorkbook: OpenWorkbook): Promise<RowSource> {
  const first = await lookAt(source.file);
  const input = isImageFile(first) ? null : await openAsRows(first, { source, openWorkbook });
  if (input?.kind === 'rows') return input.rows;
  input?.archive.close();
  throw itemErrors.raise.form_invalid('Only a file of rows has a preview; this one holds images');
}

type OpenedInput = { kind: 'rows'; rows: RowSource } | Extract<OpenInput, { kind: 'zip' }>;

async function openAsRows(
  first: ArrivingFile,
  { source, openWorkbook }: { source: ItemSource; openWorkbook: OpenWorkbook },
): Promise<OpenedInput> {
  const { file, more, fields } = source;
  const { reading } = fields();
  const measured = new MeasuredFile(file.mediaType);
  const input = await openInput(measured.through(alone(first, more)), {
    fileName: file.fileName ?? undefined,
    declaredType: file.mediaType ?? undefined,
    sheet: () => fields().sheet,
    repair: !reading.strict,
    encoding: reading.encoding,
    headerLine: reading.headerLine,
    errorCells: 'text',
    openWorkbook,
  });
  if (input.kind === 'zip') return input;
  const { fileName } = file;
  const rows = new RowSource(input.reader, { fileName, reading, measured, atEnd: () => fields().reading });
  return { kind: 'rows', rows };
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

interface SourceFile {
  fileName: string | null;
  reading: Reading;
  measured: MeasuredFile;
  atEnd: () => Reading;
}

/** A file of rows, with its columns mapped. */
export class RowSource implements JobSource {
  readonly jobType = 'csv';
  readonly #reader: RowReader;
  readonly #file: SourceFile;
  readonly #mapping: ColumnMapping | null;

  constructor(reader: RowReader, file: SourceFile) {
    this.#reader = reader;
    this.#file = file;
    this.#mapping = file.reading.mapping && new ColumnMapping(file.reading.mapping);
    // Two columns with one name are refused before a row is stored.
    if (reader.columns !== null) this.#mapping?.checkHeader(reader.columns);
  }

  get columns(): readonly string[] | null {
    const { columns } = this.#reader;
    return columns === null || this.#mapping === null ? columns : this.#mapping.columns(columns);
  }

  get notes(): RowReader['notes'] {
    return this.#reader.notes;
  }

  get file(): RowsFile {
    return this.#file.measured.measures();
  }

  /** The columns of the file, before they are mapped. */
  get fileColumns(): readonly string[] | null {
    return this.#reader.columns;
  }

  get layout(): Pick<RowReader, 'format' | 'delimiter'> & RowReader['layout'] {
    const { format, delimiter, layout } = this.#reader;
    return { format, delimiter, ...layout };
  }

  get mapping(): Reading['mapping'] {
    return this.#file.reading.mapping;
  }

  async read(maxRows: number, maxBytes: number): Promise<ParsedRow[] | null> {
    const rows = await this.#reader.read(maxRows, maxBytes);
    const mapping = this.#mapping;
    return rows === null || mapping === null ? rows : rows.map((row) => mapping.row(row));
  }

  written(): void {}

  async discard(): Promise<void> {}

  close(): Promise<void> {
    return this.#reader.close();
  }

  describe(): string | null {
    const { fileName, reading, atEnd } = this.#file;
    if (!isDeepStrictEqual(reading, atEnd())) {
      throw itemErrors.raise.form_invalid(
        'A field that says how to read the file comes after it; send strict, encoding, headerLine and mapping first',
      );
    }
    this.#mapping?.assertAllSeen(this.#reader.columns ?? []);
    return fileName;
  }
}

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Job, Slice } from '../../../kernel/jobs/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { applyCorrections } from '../corrections/corrected-rows.ts';
import type { CorrectedCells } from '../corrections/types.ts';
import {
  type Convention,
  decideConventions,
  type ReportConventions,
  sampleRows,
  weighRows,
} from '../reports/conventions.ts';
import type { ColumnKinds } from '../reports/dimensions/column-kinds.ts';
import { hasOwnDays, rangeOfFile } from '../reports/file-range.ts';
import type { PlatformProfile } from '../reports/profile.ts';
import { openReport } from '../reports/reading/open-report.ts';
import type { ReportReader } from '../reports/reading/types.ts';
import { sampleColumns } from '../reports/shown-text.ts';
import type {
  DateRange,
  LineContext,
  MappedColumns,
  ParsedLine,
  RawRow,
  ReportLayout,
  ResumePoint,
} from '../reports/types.ts';
import type { Blocker, Upload } from '../types.ts';
import { checkpointOf, stateOf, type UploadCheckpoint } from './checkpoint.ts';
import { lookAhead } from './look-ahead.ts';
import { type RetryOptions, withRetries } from './retries.ts';
import { StagingWriter } from './staging.ts';
import { insertStagingRows } from './store.ts';

/**
 * How many lines are parsed before the event loop runs: a heartbeat must not wait for a file, and the previous batch is
 * sent only while the loop runs.
 */
const linesPerYield = 100;
/** How many lines one transaction stages. */
const usualLinesPerBatch = 5_000;

export interface ParseOptions {
  /** How far this slice has come. */
  checkpoint: UploadCheckpoint;
  profile: PlatformProfile;
  /** Opens the stored file at a byte. */
  open: (fromByte: number) => AsyncIterable<Uint8Array>;
  plausibility?: LineContext['plausibility'];
  /** What people corrected; it is read instead of the file's cells. */
  corrected: CorrectedCells;
  /** The slice ends after the first batch that finishes past this time. */
  deadlineMs: number;
  /** Tests make it smaller, to have several batches without large files. */
  linesPerBatch?: number | undefined;
  retries: RetryOptions;
}

/** The progress of parsing, and a description of the file for people. */
export interface ParseReport {
  checkpoint: UploadCheckpoint;
  layout: Record<string, unknown>;
  blockers: Blocker[];
}

/**
 * Reads the file from the checkpoint on and stages its lines. While one batch is written, the next is parsed.
 * `isParsed` in the checkpoint says whether the end of the file was reached.
 */
export async function parseFile(slice: Slice, upload: Upload, options: ParseOptions): Promise<ParseReport> {
  const { checkpoint } = options;
  const openAt = (resume: ResumePoint | null) =>
    openReport(options.open, {
      findHeader: (lines) => options.profile.findHeader(lines, { mapping: upload.mapping }),
      ...(resume ? { resume } : {}),
    });
  const reader = await openAt(checkpoint.resume);
  const lines = new LineParser(reader, {
    upload,
    profile: options.profile,
    plausibility: options.plausibility,
    conventions: checkpoint.conventions,
    kinds: checkpoint.kinds,
    range: checkpoint.range,
  });
  const staging = new Staging(slice, upload, checkpoint, options.retries);
  const { linesPerBatch = usualLinesPerBatch } = options;
  const isTime = () => performance.now() >= options.deadlineMs || slice.shouldYield();
  try {
    for await (const batch of reader.batches(linesPerBatch)) {
      const rows = applyCorrections(batch.rows, options.corrected);
      const hanging = lines.prepare(rows);
      if (hanging.length > 0) {
        const rest = await openAt(staging.lookedUpTo ?? batch.resume);
        const task = { lines, hanging, leastRows: linesPerBatch, signal: slice.signal, isTime };
        const { stoppedAt } = await lookAhead(rest, task);
        if (stoppedAt) return lines.report(await staging.pause(lines.decided, stoppedAt));
      }
      await parseBatch(rows, lines, staging.writer);
      await staging.write(batch.resume, lines.decided);
      if (isTime() && batch.resume !== null) return lines.report(await staging.end({ isParsed: false }));
    }
    return lines.report(await staging.end({ isParsed: true, decided: lines.decided }));
  } finally {
    // Whatever stopped the parsing, the write in progress must end first.
    await staging.finishWriting();
  }
}

/** What the first rows decided for the whole file. */
type Decided = Pick<UploadCheckpoint, 'conventions' | 'kinds' | 'range'>;

/** Turns rows into lines. The headers of a JSON file grow while it is read; then the columns are mapped again. */
class LineParser {
  readonly #reader: ReportReader;
  readonly #upload: Upload;
  readonly #profile: PlatformProfile;
  readonly #plausibility: LineContext['plausibility'];
  #conventions: ReportConventions | null;
  #kinds: ColumnKinds;
  #range: DateRange | null;
  #columns: MappedColumns | null = null;
  /** Values of each column, from the first rows that this slice has read. */
  #samples: string[][] | null = null;
  #parse: ((row: RawRow) => ParsedLine) | null = null;

  constructor(
    reader: ReportReader,
    options: Decided & Pick<ParseOptions, 'profile' | 'plausibility'> & { upload: Upload },
  ) {
    this.#reader = reader;
    this.#upload = options.upload;
    this.#profile = options.profile;
    this.#plausibility = options.plausibility;
    this.#conventions = options.conventions;
    this.#kinds = options.kinds;
    this.#range = options.range;
  }

  get decided(): Decided {
    return { conventions: this.#conventions, kinds: this.#kinds, range: this.#range };
  }

  /** Null before the first row. */
  get conventions(): ReportConventions | null {
    return this.#conventions;
  }

  /**
   * Decides from the first rows how ambiguous numbers and dates are read. Returns the conventions that cells of these
   * rows depend on and that are still unproven: the rows must not be parsed before these are decided.
   */
  prepare(rows: readonly RawRow[]): Convention[] {
    const { layout } = this.#reader;
    const cells = rows.slice(0, sampleRows).map((row) => row.cells);
    this.#samples ??= sampleColumns(cells, [...layout.headers.keys()]);
    if (this.#columns === null || this.#columns.headers.length !== layout.headers.length) {
      this.#columns = this.mapColumns(this.#reader.layout);
      this.#kinds = this.#profile.kindsOf(this.#columns, cells, this.#kinds);
      this.#parse = null;
    }
    if (this.#conventions === null) this.#begin(this.#columns, rows.slice(0, sampleRows));
    if (this.#conventions === null) throw new Error('The conventions were not decided');
    const { conventions, hanging } = weighRows(this.#conventions, { columns: this.#columns, rows });
    this.useConventions(conventions);
    return hanging;
  }

  /** Decides what holds for the whole file. Throws when it cannot be read as what it is said to be. */
  #begin(columns: MappedColumns, sample: readonly RawRow[]): void {
    const { layout } = this.#reader;
    const cells = sample.map((row) => row.cells);
    const wrong = this.#profile.wrongPlatform(layout, this.#upload.mapping);
    const missing = wrong ?? this.#profile.findMissing(columns, cells);
    if (missing) throw missing;
    const { unpacked } = this.#upload;
    const serialDays = unpacked?.sheet ? (unpacked.is_1904 ? 1904 : 1900) : null;
    const conventions = decideConventions(columns, {
      layout,
      sample,
      serialDays,
      profile: this.#profile.definition,
    });
    if (!hasOwnDays(columns)) {
      const { dateFrom, dateTo, filename } = this.#upload;
      const given = dateFrom === null || dateTo === null ? null : { from: dateFrom, to: dateTo };
      this.#range = rangeOfFile({ layout, given, filename, dateOrder: conventions.dateOrder });
      if (this.#range === null) throw this.#profile.periodUnknown(layout.headers, cells);
    }
    this.#conventions = conventions;
  }

  useConventions(conventions: ReportConventions): void {
    if (conventions !== this.#conventions) this.#parse = null;
    this.#conventions = conventions;
  }

  mapColumns({ headers, format }: ReportLayout): MappedColumns {
    return this.#profile.mapHeaders(headers, { mapping: this.#upload.mapping, format });
  }

  parse(row: RawRow): ParsedLine {
    this.#parse ??= this.#compile();
    return this.#parse(row);
  }

  #compile(): (row: RawRow) => ParsedLine {
    if (this.#columns === null || this.#conventions === null)
      throw new Error('Lines are parsed only after `prepare`');
    const { conventions, kinds, range } = this.decided;
    return this.#profile.compileLines(this.#columns, {
      conventions: conventions as ReportConventions,
      kinds,
      range,
      plausibility: this.#plausibility,
    });
  }

  report(checkpoint: UploadCheckpoint): ParseReport {
    // A slice that found nothing but the end of the file has mapped no columns yet.
    const columns = this.#columns ?? this.mapColumns(this.#reader.layout);
    return {
      checkpoint,
      blockers: [],
      layout: {
        ...this.#reader.layout,
        ...describeColumns(columns),
        mapping_version: this.#upload.mappingVersion,
        samples: this.#samples ?? [],
        conventions: this.#conventions,
        range: this.#range,
      },
    };
  }
}

/** The part of a layout that says how the columns are mapped. */
function describeColumns({ fields, unmapped, notes, currency }: MappedColumns) {
  return {
    sources: Object.fromEntries(Object.entries(fields).map(([field, found]) => [field, found[0]?.header])),
    unmapped: unmapped.map(({ header, suggestion }) => ({ header, suggestion })),
    notes,
    currency,
  };
}

/**
 * Holds a file whose columns are unknown, if it is to be reviewed: it waits for a mapping, with its headers and what
 * they may mean, and without rows. The stored checkpoint does not move, so promoting it without a mapping reads it
 * again and fails. Throws every other error.
 */
export function holdUnmapped(
  error: unknown,
  upload: Upload,
  { checkpoint, profile }: { checkpoint: UploadCheckpoint; profile: PlatformProfile },
): ParseReport {
  const isHeld = upload.review && isSluiceError(error) && mappable.includes(error.code);
  if (!isHeld) throw error;
  const { headers, missing, samples } = error.details as Record<'headers' | 'missing', string[]> & {
    samples: string[][];
  };
  const columns = profile.mapHeaders(headers, { mapping: upload.mapping });
  const warnings = [{ code: error.code, message: error.message, count: 1 }];
  return {
    checkpoint: { ...checkpoint, isParsed: true, figures: { ...checkpoint.figures, warnings } },
    blockers: [],
    layout: {
      ...describeColumns(columns),
      mapping_version: upload.mappingVersion,
      headers,
      samples,
      missing,
      conventions: null,
    },
  };
}

/** What a reviewer can mend: by a mapping, or by the range of the report. */
const mappable = ['required_columns_missing', 'period_unknown'];

async function parseBatch(rows: RawRow[], lines: LineParser, writer: StagingWriter): Promise<void> {
  for (let at = 0; at < rows.length; at += 1) {
    writer.add(lines.parse(rows[at] as RawRow));
    if (at % linesPerYield === linesPerYield - 1) await yieldToEventLoop();
  }
}

/** Writes batches one after the other, each in one transaction with its checkpoint. */
class Staging {
  readonly writer: StagingWriter;
  readonly #slice: Slice;
  readonly #retries: RetryOptions;
  #checkpoint: UploadCheckpoint;
  #writing: Promise<void> = Promise.resolve();

  constructor(slice: Slice, upload: Upload, checkpoint: UploadCheckpoint, retries: RetryOptions) {
    this.#slice = slice;
    this.#checkpoint = checkpoint;
    this.#retries = retries;
    this.writer = new StagingWriter(upload, checkpoint.figures);
  }

  get lookedUpTo(): ResumePoint | null {
    return this.#checkpoint.lookedUpTo;
  }

  /** Starts to write the rows of the writer, once the previous batch is written. */
  async write(resume: ResumePoint | null, decided: Decided): Promise<void> {
    const rows = this.writer.take();
    const figures = this.writer.figures;
    await this.#writing;
    // Without a place to resume at, a restart begins at the previous checkpoint, so that one is kept.
    const place = { resume, figures, ...decided, lookedUpTo: null };
    const moved = resume === null ? this.#checkpoint : { ...this.#checkpoint, ...place };
    this.#begin(rows, { ...moved, step: this.#checkpoint.step + 1 });
  }

  /** Saves how far the rest of the file was searched, and what that has shown. */
  async pause(decided: Decided, lookedUpTo: ResumePoint): Promise<UploadCheckpoint> {
    await this.#writing;
    this.#begin(null, { ...this.#checkpoint, ...decided, lookedUpTo, step: this.#checkpoint.step + 1 });
    return this.end({ isParsed: false });
  }

  async end({ isParsed, decided }: { isParsed: boolean; decided?: Decided }): Promise<UploadCheckpoint> {
    await this.#writing;
    if (!isParsed) return this.#checkpoint;
    const figures = this.writer.figures;
    this.#begin(this.writer.take(), {
      ...this.#checkpoint,
      ...decided,
      figures,
      isParsed,
      step: this.#checkpoint.step + 1,
    });
    await this.#writing;
    return this.#checkpoint;
  }

  async finishWriting(): Promise<void> {
    await this.#writing.catch(() => {});
  }

  #begin(rows: string[] | null, next: UploadCheckpoint): void {
    this.#checkpoint = next;
    this.#writing = withRetries(() => this.#commit(rows, next), this.#retries);
    // The next await gets the error; until then an unhandled rejection must not end the process.
    this.#writing.catch(() => {});
  }

  async #commit(rows: string[] | null, next: UploadCheckpoint): Promise<void> {
    await this.#slice.transaction(async (tx: Tx, job: Job) => {
      const isDone = checkpointOf(job.checkpoint).step >= next.step;
      if (isDone || rows === null) return;
      await tx.as('sluice_parse', (own) => insertStagingRows(own, this.writer.upload, rows));
    }, stateOf(next));
  }
}

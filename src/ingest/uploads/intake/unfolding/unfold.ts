import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { StoredContent } from '../../../../kernel/files/types.ts';
import { isSluiceError, messageOf, SluiceError } from '../../../../lib/errors.ts';
import type { Archive, ArchiveEntry } from '../../../../lib/formats/archive.ts';
import { ByteSource } from '../../../../lib/formats/byte-source.ts';
import { isCompoundFile, isZip } from '../../../../lib/formats/magic-bytes.ts';
import { type Spool, spoolContent } from '../../../../lib/formats/spool.ts';
import { compoundFile } from '../../../../lib/rows/detect.ts';
import { readerErrors } from '../../../../lib/rows/errors.ts';
import { defaultReaderLimits, type ReaderLimits } from '../../../../lib/rows/types.ts';
import { kindOfArchive, openRowArchive } from '../../../../lib/rows/xlsx/archive-kind.ts';
import { uploadErrors } from '../../errors.ts';
import { sniffReport } from '../../reports/reading/sniff.ts';
import type { Unpacked } from '../../types.ts';
import { isJunk, reportName } from './entry-names.ts';
import type { UnfoldDeps, UnfoldedReport, UnfoldTask } from './types.ts';
import { readSheet } from './workbook-sheet.ts';

const sniffBytes = 64 * 1024;
/** Where an encrypted workbook names its parts. */
const compoundBytes = 1024 * 1024;
const pieceBytes = 64 * 1024;
/** Up to this size, a high ratio of compression is not an attack. */
const freeBytes = 4 * 1024 * 1024;

/**
 * Turns a stored file into the reports that it holds: itself, or what a workbook, gzip file or ZIP archive unfolds to.
 * Each report is stored by itself. On any error nothing of them is left, and the file that was sent stays.
 */
export async function unfold(deps: UnfoldDeps, task: UnfoldTask): Promise<UnfoldedReport[]> {
  const unfolding = new Unfolding(deps, task);
  try {
    return await unfolding.run();
  } catch (error) {
    // What cannot be removed now is left to the sweep.
    for (const { stored } of unfolding.reports) {
      if (stored !== task.stored) await deps.files.remove(stored.storageKey).catch(() => {});
    }
    throw error;
  }
}

class Unfolding {
  readonly #deps: UnfoldDeps;
  readonly #task: UnfoldTask;
  readonly #limits: ReaderLimits;
  readonly reports: UnfoldedReport[] = [];
  #leftBytes: number;

  constructor(deps: UnfoldDeps, task: UnfoldTask) {
    this.#deps = deps;
    this.#task = task;
    this.#leftBytes = deps.maxUnfoldedBytes;
    this.#limits = { ...defaultReaderLimits, inflatedBytes: deps.maxUnfoldedBytes };
  }

  async run(): Promise<UnfoldedReport[]> {
    const { stored, filename } = this.#task;
    const source = await this.#open();
    try {
      const head = await source.peek(sniffBytes);
      if (isZip(head)) await this.#unzip(await this.#spool(source, stored.sizeBytes));
      else if (isGzip(head)) await this.#gunzip(source);
      else {
        await refuseUnreadable(source, head);
        this.reports.push({ filename, stored, unpacked: null });
      }
    } finally {
      await source.close();
    }
    return this.reports;
  }

  async #open(): Promise<ByteSource> {
    return new ByteSource(await this.#deps.files.open(this.#task.stored.storageKey), pieceBytes);
  }

  #spool(content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Spool> {
    return spoolContent(content, { maxBytes }).catch((error: unknown) => {
      throw this.#inWords(error);
    });
  }

  /** A workbook, or an archive of reports. Takes over the spool. */
  async #unzip(spool: Spool): Promise<void> {
    try {
      const archive = await openRowArchive(
        { lentFd: spool.fd, sizeBytes: spool.sizeBytes },
        this.#limits,
      ).catch(refuseUnsafeName);
      const found = kindOfArchive(archive);
      if (found.kind === 'other') throw notAReport(found.what);
      const unpacked = { ...none, archive: this.#task.filename };
      if (found.kind === 'workbook') await this.#takeWorkbook(spool, { ...unpacked, from: ['xlsx'] });
      else await this.#takeMembers(archive, { ...unpacked, from: ['zip'] });
    } finally {
      await spool.close();
    }
  }

  async #takeMembers(archive: Archive, unpacked: Unpacked): Promise<void> {
    const entries = archive.entries.filter(({ name }) => !isJunk(name));
    const { maxArchiveReports: most } = this.#deps;
    if (entries.length === 0) {
      const files = archive.entries.length === 0 ? 'no files' : 'no reports, only folders and hidden files';
      throw uploadErrors.raise.archive_empty(`The archive holds ${files}`);
    }
    if (entries.length > most) {
      throw uploadErrors.raise.archive_too_many_reports(
        `The archive holds ${entries.length} reports; at most ${most} are taken from one archive`,
        { details: { max_reports: most } },
      );
    }
    for (const entry of entries) {
      const member = { ...unpacked, path: entry.name };
      await this.#takeMember(archive, entry, member).catch((error: unknown) => {
        throw inMember(entry.name, error);
      });
    }
  }

  async #takeMember(archive: Archive, entry: ArchiveEntry, unpacked: Unpacked): Promise<void> {
    const source = new ByteSource(archive.read(entry), pieceBytes);
    try {
      await this.#takeInner(source, { unpacked, filename: reportName(entry.name) });
    } finally {
      await source.close();
    }
  }

  async #gunzip(source: ByteSource): Promise<void> {
    const { stored, filename } = this.#task;
    const most = Math.max(freeBytes, stored.sizeBytes * this.#limits.inflateRatio);
    const inner = new ByteSource(inflated(source, most), pieceBytes);
    const unpacked: Unpacked = { ...none, from: ['gzip'], archive: filename };
    try {
      await this.#takeInner(inner, { unpacked, filename: filename?.replace(/\.gz(?:ip)?$/i, '') ?? null });
    } finally {
      await inner.close();
    }
  }

  /** What was inside: a text, or a workbook. Packed twice is refused: it is how bombs are built. */
  async #takeInner(
    source: ByteSource,
    { unpacked, filename }: { unpacked: Unpacked; filename: string | null },
  ): Promise<void> {
    const head = await source.peek(sniffBytes);
    if (isGzip(head)) throw nested('a gzip file');
    if (isZip(head)) {
      const spool = await this.#spool(source, this.#leftBytes);
      try {
        const archive = await openRowArchive({ lentFd: spool.fd, sizeBytes: spool.sizeBytes }, this.#limits);
        const found = kindOfArchive(archive);
        if (found.kind === 'zip') throw nested('a ZIP archive');
        if (found.kind === 'other') throw notAReport(found.what);
        await this.#takeWorkbook(spool, { ...unpacked, from: [...unpacked.from, 'xlsx'] }, filename);
      } finally {
        await spool.close();
      }
      return;
    }
    await refuseUnreadable(source, head);
    await this.#keep(Readable.from(source), { filename, unpacked });
  }

  /** `filename`: of a workbook in an archive; by default that of the file itself. */
  async #takeWorkbook(
    spool: Spool,
    unpacked: Unpacked,
    filename: string | null = this.#task.filename,
  ): Promise<void> {
    const sheet = await readSheet(spool, { ...this.#task, limits: this.#limits });
    const { name, others, is1904 } = sheet;
    await this.#keep(sheet.content, {
      filename,
      unpacked: { ...unpacked, sheet: name, other_sheets: others, is_1904: is1904 },
    });
  }

  async #keep(content: Readable, report: Omit<UnfoldedReport, 'stored'>): Promise<void> {
    const options = { maxBytes: this.#leftBytes };
    const stored: StoredContent = await this.#deps.files.store(content, options).catch((error: unknown) => {
      throw this.#inWords(error);
    });
    this.#leftBytes -= stored.sizeBytes;
    this.reports.push({ ...report, stored });
  }

  #inWords(error: unknown): unknown {
    if (!isSluiceError(error) || error.code !== 'file_too_large') return error;
    const most = this.#deps.maxUnfoldedBytes;
    return readerErrors.raise.archive_unfolds_too_far(
      `Unpacked, the file has more than ${most} bytes, the most allowed`,
      { details: { max_bytes: most }, cause: error },
    );
  }
}

const none: Unpacked = {
  from: [],
  archive: null,
  path: null,
  sheet: null,
  other_sheets: [],
  is_1904: false,
};

function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

async function* inflated(source: ByteSource, most: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  // Errors reach the reader of the last stream.
  const content = pipeline(Readable.from(source), createGunzip({ chunkSize: pieceBytes }), () => {});
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > most) {
        throw readerErrors.raise.archive_unfolds_too_far(
          `The file expands too far: to more than ${most} bytes`,
          { details: { max_bytes: most } },
        );
      }
      yield piece;
    }
  } catch (error) {
    if (isSluiceError(error)) throw error;
    throw readerErrors.raise.archive_broken(`The gzip file is damaged: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Refuses an empty file and one that is not text, before it is parsed. */
async function refuseUnreadable(source: ByteSource, head: Buffer): Promise<void> {
  if (head.length === 0) throw uploadErrors.raise.upload_empty('The file has no bytes');
  if (isCompoundFile(head)) {
    const error = compoundFile(await source.peek(compoundBytes));
    if (error.code === 'archive_encrypted') throw error;
  }
  const seen = sniffReport(head);
  if (!seen.ok) throw notAReport(seen.what);
}

function notAReport(what: string): SluiceError {
  return uploadErrors.raise.upload_not_text(`The file is ${what}, and not CSV, JSON or XLSX`, {
    details: { detected: what },
  });
}

function nested(what: string): SluiceError {
  return uploadErrors.raise.archive_nested(`It holds ${what}, which would have to be unpacked again`);
}

/** The library that reads archives refuses names that lead out of a folder. */
function refuseUnsafeName(error: unknown): never {
  if (!isSluiceError(error) || !/invalid relative path|absolute path/.test(error.message)) throw error;
  throw uploadErrors.raise.archive_unsafe_path(
    'The archive has a file whose name leads out of the archive (an absolute path, or one with "..")',
    { cause: error },
  );
}

/** The same error, with the name of the member that it is about. */
function inMember(name: string, error: unknown): unknown {
  if (!isSluiceError(error)) return error;
  const shown = JSON.stringify(name.slice(0, 200));
  const details = { ...error.details, member: name.slice(0, 200) };
  return new SluiceError(error.code, error.definition, `In the archive, ${shown}: ${error.message}`, {
    details,
    cause: error,
  });
}

import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import { adapterFailures } from '../errors.ts';
import {
  countAttempt,
  endFile,
  type FileEnd,
  findIngested,
  isTakenAlready,
  postpone,
  renewVersion,
} from '../files/file-store.ts';
import type { Adapter, AdapterFile, FileOutcome, FileSource, FoundFile } from '../types.ts';
import { FileCopy } from './file-copy.ts';
import type { HeldScan } from './lease.ts';
import type { ScanDeps } from './scan.ts';

export interface Taken {
  /** What its record is now; null: it waits on. */
  end: FileEnd | null;
  outcome: FileOutcome;
  reason: string | null;
}

/** A file that takes its server down is tried again, but not for ever. */
const maxAttempts = 10;

/** Takes one file in: copies it, looks whether it changed meanwhile, and hands it over with its record. */
export class Taking {
  readonly #deps: ScanDeps;
  readonly #adapter: Adapter;
  readonly #held: HeldScan;
  readonly #source: FileSource;

  constructor(deps: ScanDeps, given: { adapter: Adapter; held: HeldScan; source: FileSource }) {
    this.#deps = deps;
    this.#adapter = given.adapter;
    this.#held = given.held;
    this.#source = given.source;
  }

  /** Throws what stands in the way of every file; what is wrong with this one is recorded. */
  async take(row: AdapterFile, file: FoundFile): Promise<Taken> {
    const attempts = await this.#held.write((tx) => countAttempt(tx, row));
    if (attempts > maxAttempts) {
      const last = row.reason ?? 'the server ended while it was at work on it';
      return this.#fail(
        row,
        adapterFailures.raise.adapter_file_gave_up(`Given up after ${maxAttempts} attempts: ${last}`),
      );
    }
    const copy = await FileCopy.open({ maxBytes: this.#deps.doors[this.#adapter.target.kind].maxBytes });
    try {
      await this.#source.read(file, copy);
      const changed = await this.#findChange(file, copy);
      if (changed !== null) return await this.#postpone(row, changed);
      return await this.#handOver(row, copy);
    } catch (error) {
      return await this.#judge(row, error);
    } finally {
      await copy.forget();
    }
  }

  /** A file that was to be tried again and is not there. */
  gone(row: AdapterFile): Promise<Taken> {
    const where = JSON.stringify(row.movedTo ?? row.path);
    return this.#fail(row, adapterFailures.raise.adapter_file_gone(`There is no file ${where} any more`));
  }

  async #findChange(file: FoundFile, copy: FileCopy): Promise<SluiceError | null> {
    const now = await this.#source.find(file.path);
    if (now === null) return adapterFailures.raise.adapter_file_changed('It went away while it was read');
    const isSame = now.version === file.version && now.sizeBytes === file.sizeBytes;
    if (isSame && copy.sizeBytes === file.sizeBytes) return null;
    return adapterFailures.raise.adapter_file_changed(
      'It changed while it was read; it is read again once it rests',
    );
  }

  async #handOver(row: AdapterFile, copy: FileCopy): Promise<Taken> {
    const { sha256 } = copy;
    const before = await this.#endAsDuplicate(row, sha256);
    if (before !== null) return before;
    const { tenantId, target, createdBy: userId } = this.#adapter;
    const { fileId, path } = row;
    const end: FileEnd = { ...noEnd, tenantId, fileId, state: 'ingested', sha256 };
    try {
      await this.#deps.doors[target.kind].takeIn({
        ...{ tenantId, userId, target, fileName: nameOf(path), content: copy.content() },
        record: async (tx, { jobId, uploadId }) => {
          await this.#held.fence(tx);
          Object.assign(end, { jobId, uploadId });
          if (await endFile(tx, end)) return;
          throw adapterFailures.raise.adapter_scan_lost(`The file ${path} was dealt with meanwhile`);
        },
      });
    } catch (error) {
      const meanwhile = isTakenAlready(error) ? await this.#endAsDuplicate(row, sha256) : null;
      if (meanwhile === null) throw error;
      return meanwhile;
    }
    return { end, outcome: 'ingested', reason: null };
  }

  /** Null: its content was not taken in before. */
  async #endAsDuplicate(row: AdapterFile, sha256: string): Promise<Taken | null> {
    const { tenantId, name } = this.#adapter;
    return this.#held.write(async (tx) => {
      const known = await findIngested(tx, { tenantId, name, sha256 });
      if (known === null) return null;
      const { fileId: knownId, jobId, uploadId } = known;
      const isTheSame = known.path === row.path && known.movedTo === null && row.movedTo === null;
      if (isTheSame) await renewVersion(tx, { tenantId, knownId, lookId: row.fileId });
      const reason = isTheSame
        ? 'It was touched, and its content is what it was'
        : `It has the content of ${known.path}, which was taken in before`;
      const end: FileEnd = {
        ...{ tenantId, fileId: isTheSame ? knownId : row.fileId, sha256, jobId, uploadId },
        ...{ state: isTheSame ? 'ingested' : 'duplicate', duplicateOf: isTheSame ? null : knownId },
        ...{ reasonCode: 'same_content', reason },
      };
      if (!isTheSame) await endFile(tx, end);
      return { end, outcome: 'duplicate', reason };
    });
  }

  async #judge(row: AdapterFile, error: unknown): Promise<Taken> {
    if (!isSluiceError(error)) {
      // Nobody knows whose fault it is. The others go on; this one has its attempts.
      this.#deps.logger.error(
        { err: error, tenant_id: row.tenantId, path: row.path },
        'a file of an adapter failed',
      );
      return this.#postpone(
        row,
        adapterFailures.raise.adapter_file_gave_up(`Unexpected: ${messageOf(error)}`),
      );
    }
    if (error.code === 'adapter_file_unreadable' || isChange(error)) return this.#postpone(row, error);
    if (error.kind === 'invalid' && !isOfThePlace(error)) return this.#fail(row, error);
    if (error.code !== 'adapter_scan_lost') await this.#postpone(row, error).catch(() => {});
    throw error;
  }

  async #fail(row: AdapterFile, error: SluiceError): Promise<Taken> {
    const { tenantId, fileId } = row;
    const reason = error.message.slice(0, 2_000);
    const end: FileEnd = { ...noEnd, tenantId, fileId, state: 'failed', reasonCode: error.code, reason };
    await this.#held.write((tx) => endFile(tx, end));
    return { end, outcome: 'failed', reason };
  }

  async #postpone(row: AdapterFile, error: SluiceError): Promise<Taken> {
    const reason = error.message.slice(0, 2_000);
    const isItsFault = error.code === 'adapter_file_gave_up';
    const wait = { reasonCode: error.code, reason, isItsFault, looksAnew: isChange(error) };
    await this.#held.write((tx) => postpone(tx, { ...row, ...wait }));
    return { end: null, outcome: 'waiting', reason };
  }
}

const noEnd = {
  sha256: null,
  jobId: null,
  uploadId: null,
  duplicateOf: null,
  reasonCode: null,
  reason: null,
};

function isChange({ code }: SluiceError): boolean {
  return ['adapter_file_changed', 's3_object_changed', 's3_object_missing'].includes(code);
}

/** A wrong key or a blocked address is a trouble of the place, whatever the file. */
function isOfThePlace({ code }: SluiceError): boolean {
  return /^(s3|adapter_refused|address|url|fetch|host|response|too_many_redirects)/.test(code);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

import { isSluiceError, messageOf, type SluiceError } from '../../../lib/errors.ts';
import { adapterFailures } from '../errors.ts';
import {
  countAttempt,
  endFile,
  type FileEnd,
  findIngested,
  isTakenAlready,
  keepWaiting,
  renewVersion,
} from '../files/store.ts';
import type { AdapterFile, FileOutcome, FoundFile } from '../types.ts';
import { FileCopy } from './file-copy.ts';
import type { OpenScan } from './scan.ts';

export interface Taken {
  /** The new state of its record; null when it keeps waiting. */
  end: FileEnd | null;
  outcome: FileOutcome;
  reason: string | null;
}

/** A file that crashes the server is retried, but not forever. */
const maxAttempts = 10;

/**
 * Ingests one file: copies it, checks that it has not changed meanwhile, and hands it over together with its record.
 * Throws errors that concern every file; a fault of this file is recorded.
 */
export async function takeFile(scan: OpenScan, row: AdapterFile, file: FoundFile): Promise<Taken> {
  const attempts = await scan.held.write((tx) => countAttempt(tx, row));
  if (attempts > maxAttempts) {
    const last = row.reason ?? 'the server stopped while it was reading the file';
    return fail(
      scan,
      row,
      adapterFailures.raise.adapter_file_gave_up(`Given up after ${maxAttempts} attempts: ${last}`),
    );
  }
  const copy = await FileCopy.open({ maxBytes: scan.deps.doors[scan.adapter.target.kind].maxBytes });
  try {
    await scan.source.read(file, copy);
    const changed = await findChange(scan, file, copy);
    if (changed !== null) return await postpone(scan, row, changed);
    return await handOver(scan, row, copy);
  } catch (error) {
    return await judge(scan, row, error);
  } finally {
    await copy.forget();
  }
}

/** For a file that was to be retried and no longer exists. */
export function failMissing(scan: OpenScan, row: AdapterFile): Promise<Taken> {
  const where = JSON.stringify(row.movedTo ?? row.path);
  return fail(scan, row, adapterFailures.raise.adapter_file_gone(`The file ${where} no longer exists`));
}

async function findChange(scan: OpenScan, file: FoundFile, copy: FileCopy): Promise<SluiceError | null> {
  const now = await scan.source.find(file.path);
  if (now === null)
    return adapterFailures.raise.adapter_file_changed('It disappeared while it was being read');
  const isSame = now.version === file.version && now.sizeBytes === file.sizeBytes;
  if (isSame && copy.sizeBytes === file.sizeBytes) return null;
  return adapterFailures.raise.adapter_file_changed(
    'It changed while it was being read; it is read again once it stops changing',
  );
}

async function handOver(scan: OpenScan, row: AdapterFile, copy: FileCopy): Promise<Taken> {
  const { sha256 } = copy;
  const before = await endAsDuplicate(scan, row, sha256);
  if (before !== null) return before;
  const { tenantId, target, createdBy: userId } = scan.adapter;
  const { fileId, path } = row;
  const end: FileEnd = { ...noEnd, tenantId, fileId, state: 'ingested', sha256 };
  try {
    await scan.deps.doors[target.kind].takeIn({
      ...{ tenantId, userId, target, fileName: nameOf(path), content: copy.content() },
      record: async (tx, { jobId, uploadId }) => {
        await scan.held.fence(tx);
        Object.assign(end, { jobId, uploadId });
        if (await endFile(tx, end)) return;
        throw adapterFailures.raise.adapter_scan_lost(`The file ${path} was processed by another scan`);
      },
    });
  } catch (error) {
    const meanwhile = isTakenAlready(error) ? await endAsDuplicate(scan, row, sha256) : null;
    if (meanwhile === null) throw error;
    return meanwhile;
  }
  return { end, outcome: 'ingested', reason: null };
}

/** Returns null when its content was not ingested before. */
async function endAsDuplicate(scan: OpenScan, row: AdapterFile, sha256: string): Promise<Taken | null> {
  const { tenantId, name } = scan.adapter;
  return scan.held.write(async (tx) => {
    const known = await findIngested(tx, { tenantId, name, sha256 });
    if (known === null) return null;
    const { fileId: knownId, jobId, uploadId } = known;
    const isTheSame = known.path === row.path && known.movedTo === null && row.movedTo === null;
    if (isTheSame) await renewVersion(tx, { tenantId, knownId, lookId: row.fileId });
    const reason = isTheSame
      ? 'Only its time of change is new; the content is the same'
      : `It has the same content as ${known.path}, which was ingested before`;
    const end: FileEnd = {
      ...{ tenantId, fileId: isTheSame ? knownId : row.fileId, sha256, jobId, uploadId },
      ...{ state: isTheSame ? 'ingested' : 'duplicate', duplicateOf: isTheSame ? null : knownId },
      ...{ reasonCode: 'same_content', reason },
    };
    if (!isTheSame) await endFile(tx, end);
    return { end, outcome: 'duplicate', reason };
  });
}

async function judge(scan: OpenScan, row: AdapterFile, error: unknown): Promise<Taken> {
  if (!isSluiceError(error)) {
    // The cause is unknown. The other files continue; this one uses up an attempt.
    scan.deps.logger.error(
      { err: error, tenant_id: row.tenantId, path: row.path },
      'a file of an adapter failed',
    );
    return postpone(scan, row, adapterFailures.raise.adapter_file_gave_up(`Unexpected: ${messageOf(error)}`));
  }
  if (error.code === 'adapter_file_unreadable' || isChange(error)) return postpone(scan, row, error);
  if (error.kind === 'invalid' && !isOfThePlace(error)) return fail(scan, row, error);
  if (error.code !== 'adapter_scan_lost') await postpone(scan, row, error).catch(() => {});
  throw error;
}

async function fail(scan: OpenScan, row: AdapterFile, error: SluiceError): Promise<Taken> {
  const { tenantId, fileId } = row;
  const reason = error.message.slice(0, 2_000);
  const end: FileEnd = { ...noEnd, tenantId, fileId, state: 'failed', reasonCode: error.code, reason };
  await scan.held.write((tx) => endFile(tx, end));
  return { end, outcome: 'failed', reason };
}

async function postpone(scan: OpenScan, row: AdapterFile, error: SluiceError): Promise<Taken> {
  const reason = error.message.slice(0, 2_000);
  const isItsFault = error.code === 'adapter_file_gave_up';
  const wait = { reasonCode: error.code, reason, isItsFault, looksAnew: isChange(error) };
  await scan.held.write((tx) => keepWaiting(tx, { ...row, ...wait }));
  return { end: null, outcome: 'waiting', reason };
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

/** A wrong key or a blocked address is an error of the place and concerns every file. */
function isOfThePlace({ code }: SluiceError): boolean {
  return /^(s3|adapter_refused|address|url|fetch|host|response|too_many_redirects)/.test(code);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

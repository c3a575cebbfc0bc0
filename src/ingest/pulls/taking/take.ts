import type { FileDoor, ReportTarget } from '../../../kernel/house/doors.ts';
import { jobErrors } from '../../../kernel/jobs/errors.ts';
import { lockIfHeld } from '../../../kernel/jobs/lease/lease-store.ts';
import type { Slice } from '../../../kernel/jobs/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { PulledFile } from '../places/pulled-file.ts';
import { listContents, putContent } from '../store.ts';
import type { DayRange, PullResult, Source, TakenContent } from '../types.ts';

export interface TakingDeps {
  db: Database;
  reports: FileDoor<ReportTarget>;
}

export type Taken =
  | { type: 'uploaded'; uploadIds: string[] }
  | { type: 'unchanged'; since: TakenContent }
  | { type: 'refused'; code: string; reason: string };

/** A content on its way into the uploads. */
export interface Found {
  slice: Slice;
  source: Source;
  file: PulledFile;
  /** In its place; empty where there is only one. */
  path: string;
  version: string;
  fileName: string;
  range: DayRange | null;
}

/** What comes of the one report of a URL or an API. A content that is no report makes the pull fail. */
export async function takeReport(
  deps: TakingDeps,
  { slice, source, file, range }: { slice: Slice; source: Source; file: PulledFile | null; range: DayRange },
): Promise<PullResult> {
  const { place } = source;
  const asksForDays = place.kind !== 'url' || /\{date_(from|to)\}/.test(String(place.url));
  const days = asksForDays ? `${range.from} to ${range.to}` : 'the report';
  const none = { range: asksForDays ? range : null, upload_ids: [], unchanged: 0, refused: 0 };
  if (file === null) return { ...none, message: `There are no figures for ${days}; no upload was made` };
  const taken = await take(deps, {
    ...{
      slice,
      source,
      file,
      path: '',
      version: '',
      range: place.kind === 'url' && asksForDays ? range : null,
    },
    fileName: fileNameOf(source, asksForDays ? range : null),
  });
  if (taken.type === 'uploaded') {
    const count = taken.uploadIds.length === 1 ? 'one upload' : `${taken.uploadIds.length} uploads`;
    return { ...none, upload_ids: taken.uploadIds.slice(0, 100), message: `Pulled ${days}: ${count}` };
  }
  if (taken.type === 'unchanged') {
    return {
      ...none,
      unchanged: 1,
      message: `Pulled ${days}: the same as last time, so no new upload was made`,
    };
  }
  throw new Error(`A report was refused without an error: ${taken.reason}`);
}

/** Names in lists of uploads say where a file came from, and an ending says what it is. */
function fileNameOf({ name, place }: Source, range: DayRange | null): string {
  const base = name.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_').slice(0, 150);
  const days = range === null ? '' : ` ${range.from} to ${range.to}`;
  if (place.kind !== 'url') return `${base}${days}.json`;
  const ending = /\.[A-Za-z0-9]{1,6}$/.exec(new URL(String(place.url)).pathname)?.[0] ?? '';
  return `${base}${days}${ending}`;
}

/**
 * Makes uploads of a content unless its path held the same one before. The record and the uploads commit together,
 * fenced by the job: a worker that lost it makes none, and a pull that was killed behind the commit finds its own
 * record.
 */
async function take(deps: TakingDeps, found: Found): Promise<Taken> {
  const { slice, source, file, path } = found;
  const { tenantId, sourceId } = source;
  const { jobId } = slice.job;
  const [before] = await deps.db.read(tenantId, (tx) =>
    listContents(tx, { tenantId, sourceId, paths: [path] }),
  );
  if (before !== undefined && before.sha256 === file.sha256) {
    if (before.uploadId === null)
      return { type: 'refused', code: 'upload_refused', reason: before.reason ?? '' };
    if (before.jobId === jobId) return { type: 'uploaded', uploadIds: [before.uploadId] };
    await remember(found, before);
    return { type: 'unchanged', since: before };
  }
  let made: string[] = [];
  await deps.reports.takeIn({
    ...{
      tenantId,
      userId: slice.job.userId ?? source.createdBy,
      fileName: found.fileName,
      content: file.content(),
    },
    target: targetOf(found),
    record: async (tx, { uploadId, uploadIds }) => {
      if ((await lockIfHeld(tx, slice.job)) === null) {
        throw jobErrors.raise.lease_lost(`Another worker has taken over the pull ${jobId}`);
      }
      await putContent(tx, source, contentOf(found, { uploadId, reason: null }));
      made = uploadIds ?? (uploadId === null ? [] : [uploadId]);
    },
  });
  return { type: 'uploaded', uploadIds: made };
}

/** A file of many that cannot be a report is recorded, so that it is tried again only when it changes. */
export async function takeOrRefuse(deps: TakingDeps, found: Found): Promise<Taken> {
  try {
    return await take(deps, found);
  } catch (error) {
    if (!isSluiceError(error) || error.kind !== 'invalid') throw error;
    const reason = error.message.slice(0, 1_000);
    await remember(found, { uploadId: null, reason });
    return { type: 'refused', code: error.code, reason };
  }
}

function targetOf({ source, range }: Found): ReportTarget {
  const { platform, workspaceId, clientId } = source;
  return { platform, workspaceId, clientId, origin: 'pull', range };
}

/** The version is new although the content is not, or the content was refused. */
async function remember(
  found: Found,
  { uploadId, reason }: Pick<TakenContent, 'uploadId' | 'reason'>,
): Promise<void> {
  const { slice, source } = found;
  await slice.transaction((tx) => putContent(tx, source, contentOf(found, { uploadId, reason })));
}

function contentOf(
  { slice, file, path, version }: Found,
  { uploadId, reason }: Pick<TakenContent, 'uploadId' | 'reason'>,
): TakenContent {
  const { sizeBytes, sha256 } = file;
  return { path, version, sizeBytes, sha256, jobId: slice.job.jobId, uploadId, reason };
}

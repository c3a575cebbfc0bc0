import type { FilePlace, FilePlaceDoor, OpenFilePlace, PlacedFile } from '../../../kernel/house/doors.ts';
import type { Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import type { PullPolicy } from '../outcomes.ts';
import { PulledFile } from '../places/pulled-file.ts';
import { listContents, saveResult } from '../store.ts';
import type { PullResult, Source, TakenContent } from '../types.ts';
import { type Taken, type TakingDeps, takeOrRefuse } from './take.ts';

export interface FilesDeps extends TakingDeps {
  filePlaces: FilePlaceDoor;
  policy: Pick<PullPolicy, 'pollMs'>;
}

interface Looked {
  slice: Slice;
  source: Source;
  place: FilePlace;
}

/** Counters of a pull of files, kept over its slices. */
type Counts = { uploads: number; unchanged: number; refused: number };

const maxFiles = 10_000;
/** Of files that are seen for the first time; the checkpoint holds their versions. */
const maxLooks = 1_000;
const shownUploads = 100;

/**
 * Takes every file of a place that is new or has changed. Where files can be seen while they are written, a file is
 * taken only when a second look, some seconds later, finds it unchanged. A slice that ran out of time is continued:
 * what was taken is recorded, and is passed over then.
 */
export async function takeFiles(deps: FilesDeps, { slice, source, place }: Looked): Promise<SliceResult> {
  const open = await deps.filePlaces.open(source.tenantId, place);
  try {
    const changed = await listChanged(deps, { slice, source, open });
    const seen = (slice.job.checkpoint.looks ?? null) as Record<string, string> | null;
    if (!open.isAtomic && seen === null && changed.length > 0) {
      const looks = Object.fromEntries(changed.slice(0, maxLooks).map((file) => [file.path, signOf(file)]));
      return {
        outcome: { type: 'wait', delayMs: deps.policy.pollMs },
        stage: 'looking',
        checkpoint: { looks },
      };
    }
    const ready = changed.filter((file) => open.isAtomic || seen?.[file.path] === signOf(file));
    return await takeEach(deps, { slice, source, open, ready, later: changed.length - ready.length });
  } finally {
    await open.close();
  }
}

function signOf({ sizeBytes, version }: PlacedFile): string {
  return `${sizeBytes} ${version}`;
}

/** Files that this source has not taken in this version, by path. */
async function listChanged(
  { db }: FilesDeps,
  { slice, source, open }: { slice: Slice; source: Source; open: OpenFilePlace },
): Promise<PlacedFile[]> {
  const { tenantId, sourceId } = source;
  const changed: PlacedFile[] = [];
  let looked = 0;
  for await (const batch of open.list()) {
    slice.signal.throwIfAborted();
    const paths = batch.map(({ path }) => path);
    const known = await db.read(tenantId, (tx) => listContents(tx, { tenantId, sourceId, paths }));
    const byPath = new Map(known.map((content) => [content.path, content]));
    changed.push(...batch.filter((file) => !isKnown(byPath.get(file.path), file)));
    looked += batch.length;
    if (looked >= maxFiles) break;
  }
  return changed.sort((one, other) => (one.path < other.path ? -1 : 1));
}

function isKnown(content: TakenContent | undefined, { sizeBytes, version }: PlacedFile): boolean {
  return content !== undefined && content.sizeBytes === sizeBytes && content.version === version;
}

async function takeEach(
  deps: FilesDeps,
  given: { slice: Slice; source: Source; open: OpenFilePlace; ready: PlacedFile[]; later: number },
): Promise<SliceResult> {
  const { slice, source, open, ready } = given;
  const counts = countsOf(slice);
  const uploadIds = [...((slice.job.checkpoint.uploadIds ?? []) as string[])];
  let { later } = given;
  for (const [at, file] of ready.entries()) {
    if (at > 0 && slice.shouldYield()) {
      return {
        outcome: { type: 'continue' },
        checkpoint: { ...slice.job.checkpoint, uploadIds: uploadIds.slice(0, shownUploads) },
        counters: { ...counts },
      };
    }
    const taken = await takeOne(deps, { slice, source, open, file });
    if (taken === null) later += 1;
    else if (taken.type === 'uploaded') {
      counts.uploads += taken.uploadIds.length;
      uploadIds.push(...taken.uploadIds);
    } else counts[taken.type] += 1;
  }
  const result: PullResult = {
    message: messageOf(counts, later),
    range: null,
    upload_ids: uploadIds.slice(0, shownUploads),
    unchanged: counts.unchanged,
    refused: counts.refused,
  };
  return {
    outcome: { type: 'done' },
    counters: { ...counts },
    effects: (tx) => saveResult(tx, source, { result, isGood: true }),
  };
}

function countsOf({ job: { counters } }: Slice): Counts {
  const { uploads = 0, unchanged = 0, refused = 0 } = counters;
  return { uploads, unchanged, refused };
}

function messageOf({ uploads, unchanged, refused }: Counts, later: number): string {
  const parts = [
    uploads === 0 ? 'No new file' : uploads === 1 ? 'One new upload' : `${uploads} new uploads`,
    ...(unchanged > 0 ? [`${unchanged} with the same content as before`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(later > 0 ? [`${later} still being written, for the next pull`] : []),
  ];
  return parts.join(', ');
}

/** Returns null for a file that changed while it was read. */
async function takeOne(
  deps: FilesDeps,
  { slice, source, open, file }: { slice: Slice; source: Source; open: OpenFilePlace; file: PlacedFile },
): Promise<Taken | null> {
  await slice.assertHeld();
  const copy = await PulledFile.open({ maxBytes: deps.reports.maxBytes });
  try {
    await open.read(file, copy);
    const now = await open.find(file.path);
    if (now === null || signOf(now) !== signOf(file) || copy.sizeBytes !== file.sizeBytes) return null;
    const { path, version } = file;
    const fileName = path.slice(path.lastIndexOf('/') + 1);
    return await takeOrRefuse(deps, { slice, source, file: copy, path, version, fileName, range: null });
  } finally {
    await copy.forget();
  }
}

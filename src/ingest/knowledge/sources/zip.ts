import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { findBelow } from '../../../kernel/files/folder.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { type Archive, type ArchiveEntry, openArchive } from '../../../lib/formats/archive.ts';
import { type Spool, spoolContent } from '../../../lib/formats/spool.ts';
import { kindOfName } from '../formats/detect.ts';
import { documentErrors } from '../formats/errors.ts';
import { storableText } from '../formats/safe-text.ts';
import type { DocumentLimits } from '../formats/types.ts';
import { exportedName } from './exported-names.ts';
import { fileBatches, type ListedFile } from './file-batches.ts';
import type { DocumentBatch, LoadContext, Source, SourceCursor } from './source.ts';

/** As stored with the source: one of the two. */
export const zipSettings = z.object({
  url: z.string().max(2_000).optional(),
  path: z.string().max(1_000).optional(),
});

export type ZipSettings = z.output<typeof zipSettings>;

export interface ZipDeps {
  fetch: GuardedFetch;
  /** The tenant's folder; asked only if the archive lies there. */
  findRoot(): string;
  limits?: Partial<DocumentLimits>;
}

const maxArchiveBytes = 4 * 1024 * 1024 * 1024;
const archiveLimits = { maxEntries: 200_000, maxInflatedBytes: 64 * 1024 * 1024 * 1024, maxRatio: 200 };
const downloadTimeoutMs = 3_600_000;

/**
 * The documents in a ZIP archive, by name: what Notion, Confluence and many others export. Archives in the archive are
 * read too. The whole archive is there before the first document is read, so what it no longer has is gone.
 */
export function zipSource(settings: ZipSettings, deps: ZipDeps): Source {
  return { batches: (context) => batches(settings, deps, context) };
}

async function* batches(
  settings: ZipSettings,
  deps: ZipDeps,
  context: LoadContext,
): AsyncGenerator<DocumentBatch> {
  const opened: Archive[] = [];
  try {
    const { spool, sha256 } = await fetchArchive(settings, deps, context.signal);
    opened.push(await open(spool));
    const contents = await contentsOf(opened);
    const after = continuesAfter(context.cursor, sha256);
    const files = listed(contents.files, sha256).filter(({ name }) => name > after);
    yield* fileBatches(onePage(files), {
      context,
      limits: deps.limits ?? {},
      end: () => endOf(contents),
    });
  } catch (error) {
    if (!isSluiceError(error) || error.kind === 'transient') throw error;
    const reason = storableText(error.message);
    yield { documents: [], cursor: context.cursor ?? {}, end: { isComplete: false, reason } };
  } finally {
    for (const archive of opened) archive.close();
  }
}

/** Another archive begins from the start: it may have documents before the place where the earlier one was left. */
function continuesAfter(cursor: SourceCursor | null, sha256: string): string {
  const { archive, entry } = cursor ?? {};
  return archive === sha256 && typeof entry === 'string' ? entry : '';
}

function endOf({ files, unopened }: Contents): NonNullable<DocumentBatch['end']> {
  if (files.length === 0) return { isComplete: false, reason: 'The archive contains no documents' };
  if (unopened === 0) return { isComplete: true };
  return {
    isComplete: false,
    reason: `The archive contains ${mostNested + unopened} archives; only ${mostNested} of them were read`,
  };
}

async function* onePage(files: ListedFile[]): AsyncGenerator<ListedFile[]> {
  yield files;
}

interface FetchedArchive {
  spool: Spool;
  /** Of all its bytes: whether it is the archive that the run has begun with. */
  sha256: string;
}

async function fetchArchive(
  { url, path }: ZipSettings,
  deps: ZipDeps,
  signal: AbortSignal,
): Promise<FetchedArchive> {
  if (url === undefined) return copyOf(path ?? '', deps);
  const options = { timeoutMs: downloadTimeoutMs, maxBytes: maxArchiveBytes, decode: false, signal };
  const { status, body } = await deps.fetch.stream(url, options);
  if (status === 200) return keep(body);
  body.destroy();
  const message = `${new URL(url).host} answered ${status} when the archive was requested`;
  throw status >= 500 || status === 429
    ? documentErrors.raise.file_unreadable(message)
    : documentErrors.raise.document_is_broken(message);
}

/** A copy, because nobody may change the archive while it is read. */
async function copyOf(path: string, { findRoot }: ZipDeps): Promise<FetchedArchive> {
  const found = await findBelow(findRoot(), path);
  if (found !== null) return keep(createReadStream(found));
  throw documentErrors.raise.document_is_broken(
    `There is no file ${JSON.stringify(path)} in the tenant’s folder below KNOWLEDGE_FOLDER_ROOT`,
  );
}

async function keep(content: AsyncIterable<Uint8Array>): Promise<FetchedArchive> {
  const hash = createHash('sha256');
  const hashed = async function* () {
    for await (const piece of content) {
      hash.update(piece);
      yield piece;
    }
  };
  const spool = await spoolContent(hashed(), { maxBytes: maxArchiveBytes });
  return { spool, sha256: hash.digest('hex') };
}

async function open(source: Spool): Promise<Archive> {
  const { document_is_broken, document_is_encrypted, document_unfolds_too_far } = documentErrors.raise;
  try {
    return await openArchive(source, {
      limits: archiveLimits,
      errors: {
        broken: (why, cause) => document_is_broken(why, { cause }),
        encrypted: (why) => document_is_encrypted(why),
        expandsTooFar: (why) => document_unfolds_too_far(why),
      },
    });
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** A document of an archive. */
interface ZippedFile {
  archive: Archive;
  entry: ArchiveEntry;
  /** With that of the archive within the archive. */
  name: string;
}

interface Contents {
  files: ZippedFile[];
  /** Archives within the archive that are too many. */
  unopened: number;
}

const mostNested = 50;

/** All documents, by name. */
async function contentsOf(opened: Archive[]): Promise<Contents> {
  const [archive] = opened as [Archive];
  const contents: Contents = { files: [], unopened: 0 };
  await collect(archive, { prefix: '', contents, opened });
  const files = withoutTwins(contents.files).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { ...contents, files };
}

/** Notion divides a large export into archives within one archive. */
async function collect(
  archive: Archive,
  { prefix, contents, opened }: { prefix: string; contents: Contents; opened: Archive[] },
): Promise<void> {
  for (const entry of archive.entries) {
    if (isJunk(entry.name)) continue;
    if (kindOfName(entry.name) !== null) {
      contents.files.push({ archive, entry, name: `${prefix}${entry.name}` });
    } else if (/\.zip$/i.test(entry.name) && prefix === '') {
      if (opened.length > mostNested) {
        contents.unopened += 1;
        continue;
      }
      const inner = await open(await spoolContent(archive.read(entry), { maxBytes: maxArchiveBytes }));
      opened.push(inner);
      const isPart = /(?:^|\/)ExportBlock-[^/]*\.zip$/i.test(entry.name);
      await collect(inner, { prefix: isPart ? '' : `${entry.name}/`, contents, opened });
    }
  }
}

/** What systems and exports put beside documents. */
function isJunk(name: string): boolean {
  const segments = name.split('/');
  return name.endsWith('/') || segments.some((part) => part.startsWith('.') || part === '__MACOSX');
}

/** Pages are known by their ids, unless several have the same one: `bill_20240101.html` and `tax_20240101.html`. */
function listed(files: readonly ZippedFile[], sha256: string): ListedFile[] {
  const named = files.map((file) => ({ ...file, ...exportedName(file.name) }));
  const times = new Map<string, number>();
  for (const { identity } of named) times.set(identity, (times.get(identity) ?? 0) + 1);
  return named.map(({ archive, entry, name, identity, shownName }) => {
    const isAlone = times.get(identity) === 1;
    return {
      uri: storableText(`zip:${isAlone ? identity : name}`),
      name,
      shownName: isAlone ? shownName : (name.split('/').at(-1) ?? name),
      mediaType: null,
      cursor: { archive: sha256, entry: name },
      sha256: null,
      findStamp: null,
      open: async () => readable(archive, entry),
    };
  });
}

function readable(archive: Archive, entry: ArchiveEntry): Readable {
  return Readable.from(archive.read(entry), { objectMode: false });
}

/** Of a database Notion writes a file with the rows of a view, and one with all rows. */
function withoutTwins(files: readonly ZippedFile[]): ZippedFile[] {
  const names = new Set(files.map(({ name }) => name));
  return files.filter(
    ({ name }) => !(/\.csv$/i.test(name) && names.has(name.replace(/\.csv$/i, '_all.csv'))),
  );
}

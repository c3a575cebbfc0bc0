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
import type { DocumentBatch, LoadContext, Source } from './source.ts';

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
    const files: ListedFile[] = [];
    const archive = await open(await fetchArchive(settings, deps, context.signal));
    opened.push(archive);
    await collect(archive, { prefix: '', files, opened });
    const after = typeof context.cursor?.entry === 'string' ? context.cursor.entry : '';
    const sorted = withoutTwins(files).toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const isEmpty = sorted.length === 0;
    yield* fileBatches(onePage(sorted.filter(({ name }) => name > after)), {
      context,
      limits: deps.limits ?? {},
      end: () =>
        isEmpty ? { isComplete: false, reason: 'The archive contains no documents' } : { isComplete: true },
    });
  } catch (error) {
    if (!isSluiceError(error) || error.kind === 'transient') throw error;
    const reason = storableText(error.message);
    yield { documents: [], cursor: context.cursor ?? {}, end: { isComplete: false, reason } };
  } finally {
    for (const archive of opened) archive.close();
  }
}

async function* onePage(files: ListedFile[]): AsyncGenerator<ListedFile[]> {
  yield files;
}

async function fetchArchive({ url, path }: ZipSettings, deps: ZipDeps, signal: AbortSignal): Promise<Spool> {
  if (url === undefined) return copyOf(path ?? '', deps);
  const options = { timeoutMs: downloadTimeoutMs, maxBytes: maxArchiveBytes, decode: false, signal };
  const { status, body } = await deps.fetch.stream(url, options);
  if (status === 200) return spoolContent(body, { maxBytes: maxArchiveBytes });
  body.destroy();
  const message = `${new URL(url).host} answered ${status} when the archive was requested`;
  throw status >= 500 || status === 429
    ? documentErrors.raise.file_unreadable(message)
    : documentErrors.raise.document_is_broken(message);
}

/** A copy, because nobody may change the archive while it is read. */
async function copyOf(path: string, { findRoot }: ZipDeps): Promise<Spool> {
  const found = await findBelow(findRoot(), path);
  if (found !== null) return spoolContent(createReadStream(found), { maxBytes: maxArchiveBytes });
  throw documentErrors.raise.document_is_broken(
    `There is no file ${JSON.stringify(path)} in the tenant’s folder below KNOWLEDGE_FOLDER_ROOT`,
  );
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

interface Collecting {
  /** Of the archive within the archive. */
  prefix: string;
  files: ListedFile[];
  opened: Archive[];
}

const mostNested = 50;

/** Notion divides a large export into archives within one archive. */
async function collect(archive: Archive, { prefix, files, opened }: Collecting): Promise<void> {
  for (const entry of archive.entries) {
    if (isJunk(entry.name)) continue;
    if (/\.zip$/i.test(entry.name) && prefix === '' && opened.length < mostNested) {
      const inner = await open(await spoolContent(archive.read(entry), { maxBytes: maxArchiveBytes }));
      opened.push(inner);
      const isPart = /(?:^|\/)ExportBlock-[^/]*\.zip$/i.test(entry.name);
      await collect(inner, { prefix: isPart ? '' : `${entry.name}/`, files, opened });
    } else if (kindOfName(entry.name) !== null) {
      files.push(listed(archive, entry, prefix));
    }
  }
}

/** What systems and exports put beside documents. */
function isJunk(name: string): boolean {
  const segments = name.split('/');
  return name.endsWith('/') || segments.some((part) => part.startsWith('.') || part === '__MACOSX');
}

function listed(archive: Archive, entry: ArchiveEntry, prefix: string): ListedFile {
  const name = `${prefix}${entry.name}`;
  const { identity, shownName } = exportedName(name);
  return {
    uri: storableText(`zip:${identity}`),
    name,
    shownName,
    mediaType: null,
    cursor: { entry: name },
    sha256: null,
    findStamp: null,
    open: async () => readable(archive, entry),
  };
}

function readable(archive: Archive, entry: ArchiveEntry): Readable {
  return Readable.from(archive.read(entry), { objectMode: false });
}

/** Of a database Notion writes a file with the rows of a view, and one with all rows. */
function withoutTwins(files: readonly ListedFile[]): ListedFile[] {
  const names = new Set(files.map(({ name }) => name));
  return files.filter(
    ({ name }) => !(/\.csv$/i.test(name) && names.has(name.replace(/\.csv$/i, '_all.csv'))),
  );
}

import { Readable } from 'node:stream';
import { z } from 'zod';
import { isSluiceError } from '../../../lib/errors.ts';
import type { GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { kindOfName } from '../formats/detect.ts';
import { documentErrors } from '../formats/errors.ts';
import { storableText } from '../formats/safe-text.ts';
import { type DocumentLimits, defaultDocumentLimits } from '../formats/types.ts';
import { fileBatches, type ListedFile } from './file-batches.ts';
import { Packfile } from './git/packfile.ts';
import { listTree } from './git/tree-files.ts';
import { type GitHead, UploadPack } from './git/upload-pack.ts';
import type { DocumentBatch, LoadContext, Source } from './source.ts';

/** As stored with the source. */
export const gitSettings = z.object({
  url: z.string().max(2_000),
  ref: z.string().max(250).nullable().default(null),
  path: z.string().max(1_000).default(''),
  username: z.string().max(200).default('git'),
  token_secret: z.string().max(200).nullable().default(null),
});

export type GitSettings = z.output<typeof gitSettings>;

export interface GitDeps {
  fetch: GuardedFetch;
  /** The token, which goes to the host of the repository only; null without one. */
  readToken(): Promise<{ value: string; scrubError(error: unknown): unknown } | null>;
  limits?: Partial<DocumentLimits>;
  maxPackBytes?: number;
}

const usualPackBytes = 1024 * 1024 * 1024;

/**
 * The documents of one commit of a repository, read over HTTPS without Git: no program, no working copy, and no address
 * that a tenant must not reach. A file whose Git name (the hash of its content) is known is not read again.
 */
export function gitSource(settings: GitSettings, deps: GitDeps): Source {
  return { batches: (context) => batches(settings, deps, context) };
}

async function* batches(
  settings: GitSettings,
  deps: GitDeps,
  context: LoadContext,
): AsyncGenerator<DocumentBatch> {
  let opened: { pack: Packfile; head: GitHead };
  try {
    opened = await openRepository(settings, deps, context.signal);
  } catch (error) {
    if (!isSluiceError(error) || error.kind === 'transient') throw error;
    const reason = storableText(error.message);
    yield { documents: [], cursor: context.cursor ?? {}, end: { isComplete: false, reason } };
    return;
  }
  const { pack, head } = opened;
  try {
    const files = await listTree(pack, head.commit, { folder: settings.path });
    const isEmpty = files.length === 0 && settings.path !== '';
    yield* fileBatches(listed(files, { settings, pack, head, context }), {
      context,
      limits: deps.limits ?? {},
      end: () =>
        isEmpty
          ? { isComplete: false, reason: `The repository has no files in ${JSON.stringify(settings.path)}` }
          : { isComplete: true },
    });
  } finally {
    await pack.close();
  }
}

async function openRepository(
  { url, ref, username }: GitSettings,
  { fetch, readToken, limits, maxPackBytes = usualPackBytes }: GitDeps,
  signal: AbortSignal,
): Promise<{ pack: Packfile; head: GitHead }> {
  const token = await readToken();
  const basic = token === null ? null : Buffer.from(`${username}:${token.value.trim()}`).toString('base64');
  const authorization = basic === null ? null : `Basic ${basic}`;
  try {
    const session = await UploadPack.open({ url, fetch, authorization, maxPackBytes, signal });
    const head = await session.findHead(ref);
    const { maxBytes } = { ...defaultDocumentLimits, ...limits };
    const file = await session.fetchPack(head.commit, { maxFileBytes: maxBytes });
    return { pack: await Packfile.open(file, { signal }), head };
  } catch (error) {
    token?.scrubError(error);
    throw error;
  }
}

interface Opened {
  settings: GitSettings;
  pack: Packfile;
  head: GitHead;
  context: LoadContext;
}

async function* listed(
  files: readonly { path: string; blob: string }[],
  { settings, pack, head, context }: Opened,
): AsyncGenerator<ListedFile[]> {
  // Another commit begins from the start; what this run has read already is skipped.
  const { commit, path: after } = (context.cursor ?? {}) as { commit?: unknown; path?: unknown };
  const from = commit === head.commit && typeof after === 'string' ? after : '';
  const stamp = (blob: string) => async () => ({ text: `git:${blob}`, isSettled: true });
  yield files
    .filter(({ path }) => path > from && kindOfName(path) !== null)
    .map(({ path, blob }) => ({
      uri: storableText(`git:${path}`),
      name: path,
      metadata: addressOf(settings.url, { branch: head.name, path }),
      mediaType: null,
      cursor: { commit: head.commit, path },
      sha256: null,
      findStamp: stamp(blob),
      open: async () => {
        const content = await pack.read(blob, 'blob');
        if (content !== null) return Readable.from([content]);
        throw documentErrors.raise.document_too_large('The file is larger than documents may be');
      },
    }));
}

/** Where people read the file, for the hosts whose addresses are known. */
function addressOf(url: string, { branch, path }: { branch: string; path: string }): { url?: string } {
  const repository = url.replace(/\/+$/, '').replace(/\.git$/, '');
  const place = `${encodeURI(branch)}/${path.split('/').map(encodeURIComponent).join('/')}`;
  const { hostname } = new URL(repository);
  if (hostname === 'github.com') return { url: `${repository}/blob/${place}` };
  return /(^|\.)gitlab\./.test(hostname) ? { url: `${repository}/-/blob/${place}` } : {};
}

import { z } from 'zod';
import { isSluiceError } from '../../../lib/errors.ts';
import type { FetchAnswer, GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { readDocument } from '../formats/read-document.ts';
import { storableText, storableTitle } from '../formats/safe-text.ts';
import {
  type DocumentBatch,
  type LoadContext,
  type LoadedDocument,
  loadedDocument,
  type Source,
} from './source.ts';
import { type YoutubeErrorCode, youtubeErrors } from './youtube-errors.ts';
import { captionsAsVtt, chooseTrack, findVideoId, readWatchPage } from './youtube-page.ts';

/** As stored with the source. */
export const youtubeSettings = z.object({
  url: z.string().max(2_000),
  /** A language tag such as `en`; default: the spoken language. */
  language: z.string().min(2).max(35).optional(),
});

export type VideoSettings = z.output<typeof youtubeSettings>;

export interface YoutubeDeps {
  fetch: GuardedFetch;
  youtubeBaseUrl?: string;
}

/** The captions of one video. */
export function youtubeSource(settings: VideoSettings, deps: YoutubeDeps): Source {
  return { batches: (context) => batches(settings, deps, context) };
}

async function* batches(
  settings: VideoSettings,
  deps: YoutubeDeps,
  context: LoadContext,
): AsyncGenerator<DocumentBatch> {
  const isRead = context.cursor?.isRead === true;
  const documents = isRead ? [] : [await loadVideo(settings, deps, context)];
  yield { documents, cursor: { isRead: true }, end: { isComplete: true } };
}

const limits = { pageBytes: 10 * 1024 * 1024, captionBytes: 20 * 1024 * 1024, timeoutMs: 30_000 };
const defaultBaseUrl = 'https://www.youtube.com';

async function loadVideo(
  settings: VideoSettings,
  deps: YoutubeDeps,
  context: LoadContext,
): Promise<LoadedDocument> {
  const id = findVideoId(settings.url);
  if (id === null) {
    return problem(settings.url, 'video_url_invalid', `${settings.url} is not the address of a video`);
  }
  const uri = `${defaultBaseUrl}/watch?v=${id}`;
  try {
    return await loadCaptions({ uri, id, language: settings.language ?? null }, deps, context);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!isSluiceError(error)) throw error;
    return { kind: 'error', uri, title: uri, code: error.code, message: storableText(error.message) };
  }
}

interface Video {
  uri: string;
  id: string;
  language: string | null;
}

async function loadCaptions(video: Video, deps: YoutubeDeps, context: LoadContext): Promise<LoadedDocument> {
  const { uri, id, language } = video;
  const get = getter(deps, context.signal);
  const watched = await get(`/watch?v=${id}&hl=${encodeURIComponent(language ?? 'en')}`, limits.pageBytes);
  const refusal = refusalOf(watched);
  if (refusal !== null) return problem(uri, 'captions_blocked', refusal);
  const page = readWatchPage(watched.body.toString('utf8'));
  if (page.kind === 'blocked') {
    return problem(uri, 'captions_blocked', `YouTube does not show ${uri} to programs: ${page.reason}`);
  }
  if (page.kind === 'unavailable') {
    return problem(uri, 'video_unavailable', `YouTube does not play ${uri}: ${page.reason}`);
  }
  const title = storableTitle(page.title) || uri;
  const track = chooseTrack(page.tracks, language);
  if (track === null) return problem(uri, 'captions_missing', missing(video, page.tracks), title);
  const captions = await get(asVtt(track.path), limits.captionBytes);
  const vtt = refusalOf(captions) === null ? captionsAsVtt(captions.body.toString('utf8')) : null;
  if (vtt === null) {
    const what = captions.body.length === 0 ? 'an empty body' : 'something else';
    const message = `YouTube answered ${captions.status} with ${what} instead of the captions of ${uri}`;
    return problem(uri, 'captions_blocked', message, title);
  }
  return toDocument({ uri, title, vtt }, context);
}

async function toDocument(
  { uri, title, vtt }: { uri: string; title: string; vtt: string },
  { findKnown, signal }: LoadContext,
): Promise<LoadedDocument> {
  const input = { bytes: Buffer.from(vtt), name: `${title}.vtt`, kind: 'vtt' as const };
  const result = await readDocument(input, { signal });
  const document = loadedDocument(result, { uri, title });
  if (document.kind !== 'text') return document;
  const known = await findKnown([uri]);
  return known.get(uri)?.contentHash === document.contentHash ? { kind: 'unchanged', uri } : document;
}

function asVtt(path: string): string {
  const url = new URL(path, defaultBaseUrl);
  url.searchParams.set('fmt', 'vtt');
  return url.pathname + url.search;
}

function getter({ fetch, youtubeBaseUrl = defaultBaseUrl }: YoutubeDeps, signal: AbortSignal) {
  return (path: string, maxBytes: number): Promise<FetchAnswer<Buffer>> =>
    fetch(new URL(path, youtubeBaseUrl).href, {
      headers: { 'accept-language': 'en' },
      timeoutMs: limits.timeoutMs,
      maxBytes,
      signal,
    });
}

/** Why the response is not the requested page, as a sentence; otherwise null. */
function refusalOf({ status, finalUrl }: FetchAnswer<Buffer>): string | null {
  const { hostname } = new URL(finalUrl);
  if (hostname.startsWith('consent.')) return 'YouTube asks for consent to cookies before it shows the video';
  return status === 200 ? null : `YouTube answered ${status}`;
}

function missing({ uri, language }: Video, tracks: readonly { language: string }[]): string {
  if (tracks.length === 0) return `${uri} has no captions`;
  const languages = [...new Set(tracks.map((track) => track.language))].slice(0, 20).join(', ');
  return `${uri} has no captions in ${language ?? 'its language'}. Available: ${languages}`;
}

/** The message includes the next step, because it is shown with the document. */
function problem(uri: string, code: YoutubeErrorCode, said: string, title = uri): LoadedDocument {
  const message = `${storableText(said)}. ${youtubeErrors.definitions[code].next}`;
  return { kind: 'error', uri: storableText(uri), title: storableTitle(title), code, message };
}

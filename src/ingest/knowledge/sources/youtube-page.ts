import { z } from 'zod';
import { parseForeignJson } from '../../../lib/json-depth.ts';

export interface CaptionTrack {
  /** Path and query of the captions. */
  path: string;
  language: string;
  /** Written by people, not generated from speech. */
  isWritten: boolean;
}

export type WatchPage =
  | { kind: 'video'; title: string; tracks: CaptionTrack[] }
  /** YouTube says that the video cannot be watched, and why. */
  | { kind: 'unavailable'; reason: string }
  /** A page for people: consent, sign-in, a check for robots, or an unknown page. */
  | { kind: 'blocked'; reason: string };

/** The id of a video; null for other addresses. */
export function findVideoId(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { hostname, pathname, searchParams } = new URL(text);
  const host = hostname.toLowerCase().replace(/^(www|m|music)\./, '');
  const [first = '', second = ''] = pathname.split('/').slice(1);
  if (host === 'youtu.be') return idOf(first);
  if (host !== 'youtube.com' && host !== 'youtube-nocookie.com') return null;
  if (first === 'watch') return idOf(searchParams.get('v') ?? '');
  return ['shorts', 'embed', 'live', 'v', 'e'].includes(first) ? idOf(second) : null;
}

export function readWatchPage(html: string): WatchPage {
  const player = findPlayer(html);
  if (player === null) {
    const isConsent = /consent\.(youtube|google)\./.test(html);
    const reason = isConsent ? 'it asks for consent to cookies' : 'its page contains no player data';
    return { kind: 'blocked', reason };
  }
  const { playabilityStatus: playable, videoDetails, captions } = player;
  const reason = `it says ${JSON.stringify(playable?.reason ?? playable?.status ?? 'nothing')}`;
  if (playable?.status === 'LOGIN_REQUIRED') return { kind: 'blocked', reason };
  if (playable?.status !== 'OK' && captions === undefined) return { kind: 'unavailable', reason };
  const tracks = captions?.playerCaptionsTracklistRenderer?.captionTracks ?? [];
  return {
    kind: 'video',
    title: videoDetails?.title ?? '',
    tracks: tracks.flatMap(({ baseUrl, languageCode, kind }) => {
      if (!URL.canParse(baseUrl, 'https://www.youtube.com')) return [];
      const { pathname, search } = new URL(baseUrl, 'https://www.youtube.com');
      return [{ path: pathname + search, language: languageCode, isWritten: kind !== 'asr' }];
    }),
  };
}

/** The requested language, otherwise the spoken one; written captions before generated ones. */
export function chooseTrack(tracks: readonly CaptionTrack[], language: string | null): CaptionTrack | null {
  const primary = (tag: string) => tag.toLowerCase().split('-', 1)[0];
  const spoken = tracks.find(({ isWritten }) => !isWritten)?.language ?? null;
  const wanted = language ?? spoken;
  const fits = (track: CaptionTrack) => wanted !== null && primary(track.language) === primary(wanted);
  const isExact = (track: CaptionTrack) => track.language.toLowerCase() === wanted?.toLowerCase();
  const candidates = language === null && !tracks.some(fits) ? [...tracks] : tracks.filter(fits);
  const rank = (track: CaptionTrack) => (track.isWritten ? 0 : 2) + (isExact(track) ? 0 : 1);
  return candidates.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** Converts the formats of the site to VTT; null for an unknown format. */
export function captionsAsVtt(body: string): string | null {
  const text = body.replace(/^\uFEFF/, '').trimStart();
  if (text.startsWith('WEBVTT')) return text;
  if (!text.startsWith('{')) return null;
  const parsed = json3.safeParse(parseForeignJson(text));
  if (!parsed.success) return null;
  const cues = parsed.data.events.flatMap(({ tStartMs = 0, dDurationMs = 0, segs = [] }) => {
    const words = segs
      .map(({ utf8 = '' }) => utf8)
      .join('')
      .trim();
    const line = words.replace(/\s*\n\s*/g, '\n').replaceAll('<', '&lt;');
    return words === '' ? [] : [`${timeOf(tStartMs)} --> ${timeOf(tStartMs + dDurationMs)}\n${line}`];
  });
  return ['WEBVTT', ...cues].join('\n\n');
}

const json3 = z.object({
  events: z.array(
    z.object({
      tStartMs: z.number().optional(),
      dDurationMs: z.number().optional(),
      segs: z.array(z.object({ utf8: z.string().optional() })).optional(),
    }),
  ),
});

const playerSchema = z.object({
  playabilityStatus: z.object({ status: z.string(), reason: z.string().optional() }).optional(),
  videoDetails: z.object({ title: z.string() }).optional(),
  captions: z
    .object({
      playerCaptionsTracklistRenderer: z
        .object({
          captionTracks: z
            .array(
              z.object({
                baseUrl: z.string().max(8_000),
                languageCode: z.string().max(100),
                kind: z.string().optional(),
              }),
            )
            .optional(),
        })
        .optional(),
    })
    .optional(),
});

function findPlayer(html: string): z.output<typeof playerSchema> | null {
  const marker = /ytInitialPlayerResponse["']?\]?\s*=\s*(?=\{)/g;
  for (
    let found = marker.exec(html), tries = 0;
    found !== null && tries < 5;
    found = marker.exec(html), tries += 1
  ) {
    const parsed = playerSchema.safeParse(parseForeignJson(objectAt(html, marker.lastIndex)));
    if (parsed.success && parsed.data.playabilityStatus !== undefined) return parsed.data;
  }
  return null;
}

/** From the brace at `start` to its closing brace; the script continues after it. */
function objectAt(text: string, start: number): string {
  let depth = 0;
  const interesting = /"(?:[^"\\]|\\.)*"|[{}]/g;
  interesting.lastIndex = start;
  for (let found = interesting.exec(text); found !== null; found = interesting.exec(text)) {
    if (found[0] === '{') depth += 1;
    else if (found[0] === '}') depth -= 1;
    if (depth === 0) return text.slice(start, interesting.lastIndex);
  }
  return '';
}

function idOf(text: string): string | null {
  return /^[\w-]{11}$/.test(text) ? text : null;
}

function timeOf(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return [...parts, (seconds % 60).toFixed(3).padStart(6, '0')].join(':');
}

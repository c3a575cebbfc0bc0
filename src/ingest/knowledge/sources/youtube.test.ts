import { describe, expect, test } from 'vitest';
import { guardedFetch } from '../../../../test/support/fakes/local-site.ts';
import { type SitePage, serveWebSite } from '../../../../test/support/fakes/site.ts';
import type { KnownDocument, LoadedDocument } from './source.ts';
import { youtubeSettings, youtubeSource } from './youtube.ts';
import { chooseTrack, findVideoId } from './youtube-page.ts';

const id = 'dQw4w9WgXcQ';
const uri = `https://www.youtube.com/watch?v=${id}`;

const track = (languageCode: string, kind?: string) => ({
  baseUrl: `https://www.youtube.com/api/timedtext?v=${id}\u0026lang=${languageCode}${kind ? `\u0026kind=${kind}` : ''}`,
  name: { simpleText: languageCode },
  vssId: `.${languageCode}`,
  languageCode,
  ...(kind ? { kind } : {}),
  isTranslatable: true,
});

/** The shape of a real watch page: the player's answer stands in a script, and other scripts follow. */
const watchPage = (player: unknown) => ({
  body: `<!DOCTYPE html><html><head><title>x - YouTube</title><script>var ytcfg={"a":"}"};</script></head><body>
<script nonce="n">var ytInitialPlayerResponse = ${JSON.stringify(player)};
var meta = document.createElement('meta');</script>
<script>var ytInitialData = {"contents":{}};</script></body></html>`,
});

const playing = (...captionTracks: unknown[]) => ({
  responseContext: { note: 'a "quoted" } brace' },
  playabilityStatus: { status: 'OK', playableInEmbed: true },
  videoDetails: { videoId: id, title: 'How to open a sluice', lengthSeconds: '212' },
  ...(captionTracks.length > 0 ? { captions: { playerCaptionsTracklistRenderer: { captionTracks } } } : {}),
});

const vtt = {
  type: 'text/vtt',
  body: [
    'WEBVTT\nKind: captions\nLanguage: en',
    '00:00:01.000 --> 00:00:03.000\nTurn the wheel',
    '00:00:03.000 --> 00:00:05.000\nslowly to the left.\n',
  ].join('\n\n'),
};
const json3 = {
  type: 'application/json',
  body: JSON.stringify({
    wireMagic: 'pb3',
    events: [
      { tStartMs: 0, dDurationMs: 9_000, id: 1 },
      { tStartMs: 1_000, dDurationMs: 2_000, segs: [{ utf8: 'Turn the' }, { utf8: ' wheel' }] },
      { tStartMs: 3_000, dDurationMs: 10, aAppend: 1, segs: [{ utf8: '\n' }] },
      { tStartMs: 3_000, dDurationMs: 2_000, segs: [{ utf8: 'slowly to the left.' }] },
    ],
  }),
};

const watchPath = (language = 'en') => `/watch?v=${id}&hl=${language}`;
const captionPath = (language: string, kind = '') => `/api/timedtext?v=${id}&lang=${language}${kind}&fmt=vtt`;

async function load(
  pages: Record<string, SitePage>,
  given: { url?: string; language?: string; known?: KnownDocument } = {},
): Promise<LoadedDocument> {
  const site = await serveWebSite(pages);
  const { url = uri, language, known } = given;
  const source = youtubeSource(youtubeSettings.parse({ url, language }), {
    fetch: guardedFetch({ blockPrivateAddresses: false }),
    youtubeBaseUrl: site.url,
  });
  const batches = [];
  const signal = new AbortController().signal;
  const findKnown = async () => new Map(known === undefined ? [] : [[known.uri, known]]);
  for await (const batch of source.batches({ cursor: null, frontier: [], findKnown, signal }))
    batches.push(batch);
  expect(batches).toEqual([
    { documents: [expect.anything()], cursor: expect.anything(), end: { isComplete: true } },
  ]);
  return batches[0]?.documents[0] as LoadedDocument;
}

describe('the captions of a video', () => {
  test.each([
    ['VTT', vtt],
    ['JSON', json3],
  ])('become its text from %s', async (_form, captions) => {
    const document = await load({
      [watchPath()]: watchPage(playing(track('en'))),
      [captionPath('en')]: captions,
    });
    expect(document).toMatchObject({
      kind: 'text',
      uri,
      title: 'How to open a sluice',
      text: 'Turn the wheel slowly to the left.',
      mediaType: 'text/vtt',
    });
    const contentHash = document.kind === 'text' ? document.contentHash : '';
    const known = { uri, contentHash, etag: null, lastModified: null };
    const pages = { [watchPath()]: watchPage(playing(track('en'))), [captionPath('en')]: captions };
    expect(await load(pages, { known })).toEqual({ kind: 'unchanged', uri });
  });

  test('are those of the language that was asked for', async () => {
    const pages = {
      [watchPath('de')]: watchPage(playing(track('en'), track('de', 'asr'))),
      [captionPath('de', '&kind=asr')]: { ...vtt, body: vtt.body.replace('Turn the wheel', 'Das Rad') },
    };
    expect(await load(pages, { language: 'de' })).toMatchObject({ text: 'Das Rad slowly to the left.' });
  });

  test('captions that do not exist are an error that names the available languages', async () => {
    const none = await load({ [watchPath()]: watchPage(playing()) });
    expect(none).toMatchObject({ kind: 'error', code: 'captions_missing', title: 'How to open a sluice' });
    const other = await load({ [watchPath('fr')]: watchPage(playing(track('en'))) }, { language: 'fr' });
    expect(other).toMatchObject({
      code: 'captions_missing',
      message: expect.stringContaining('Available: en'),
    });
  });

  test.each<[string, Record<string, SitePage>]>([
    [
      'asks to sign in',
      {
        [watchPath()]: watchPage({
          playabilityStatus: { status: 'LOGIN_REQUIRED', reason: 'Sign in to confirm you’re not a bot' },
        }),
      },
    ],
    ['asks for consent', { [watchPath()]: { body: '<form action="https://consent.youtube.com/save">' } }],
    ['answers 429', { [watchPath()]: { status: 429 } }],
    [
      'sends no captions',
      { [watchPath()]: watchPage(playing(track('en'))), [captionPath('en')]: { body: '' } },
    ],
    [
      'refuses captions',
      { [watchPath()]: watchPage(playing(track('en'))), [captionPath('en')]: { status: 403 } },
    ],
    ['sends a page instead', { [watchPath()]: watchPage(playing(track('en'))), [captionPath('en')]: {} }],
  ])('are blocked when the site %s, and the way out is named', async (_what, pages) => {
    expect(await load(pages)).toMatchObject({
      kind: 'error',
      uri,
      code: 'captions_blocked',
      message: expect.stringMatching(/VTT or SRT/),
    });
  });

  test('an unavailable video, or an address that is not a video, is an error', async () => {
    const gone = { playabilityStatus: { status: 'ERROR', reason: 'Video unavailable' } };
    expect(await load({ [watchPath()]: watchPage(gone) })).toMatchObject({
      code: 'video_unavailable',
      message: expect.stringContaining('Video unavailable'),
    });
    const list = 'https://www.youtube.com/playlist?list=PL123';
    expect(await load({}, { url: list })).toMatchObject({
      kind: 'error',
      uri: list,
      code: 'video_url_invalid',
    });
  });
});

describe('the address of a video', () => {
  test.each([
    `https://www.youtube.com/watch?v=${id}&t=10s&list=PL1`,
    `http://youtube.com/watch?app=desktop&v=${id}`,
    `https://m.youtube.com/watch?v=${id}`,
    `https://music.youtube.com/watch?v=${id}`,
    `https://youtu.be/${id}?si=abc`,
    `https://www.youtube.com/shorts/${id}`,
    `https://www.youtube.com/live/${id}?feature=share`,
    `https://www.youtube-nocookie.com/embed/${id}`,
    `https://www.youtube.com/v/${id}`,
  ])('%s is understood', (url) => {
    expect(findVideoId(url)).toBe(id);
  });

  test.each([
    'https://www.youtube.com/',
    'https://www.youtube.com/watch?v=short',
    `https://youtube.com.evil.net/watch?v=${id}`,
    `https://vimeo.com/${id}`,
    'https://www.youtube.com/@channel',
    'nonsense',
  ])('%s is none', (url) => {
    expect(findVideoId(url)).toBeNull();
  });
});

describe('of several captions', () => {
  const written = (language: string) => ({ path: '/', language, isWritten: true });
  const heard = (language: string) => ({ path: '/', language, isWritten: false });

  test('the ones in the requested language are used, written ones first', () => {
    expect(chooseTrack([heard('en'), written('en')], 'en')).toEqual(written('en'));
    expect(chooseTrack([written('en-GB'), written('en-US')], 'en-us')).toEqual(written('en-US'));
    expect(chooseTrack([written('de'), written('en-GB')], 'en')).toEqual(written('en-GB'));
    expect(chooseTrack([written('de')], 'en')).toBeNull();
  });

  test('the ones in the spoken language are used if no language is requested', () => {
    expect(chooseTrack([written('ar'), written('de'), heard('de')], null)).toEqual(written('de'));
    expect(chooseTrack([written('ar'), written('de')], null)).toEqual(written('ar'));
    expect(chooseTrack([], null)).toBeNull();
  });
});

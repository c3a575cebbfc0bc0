import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useKnowledge, wordEmbedder } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

// The captions of a video, from answers in the shape of the real ones.
const videoId = 'dQw4w9WgXcQ';
const captions = [
  'WEBVTT\nKind: captions\nLanguage: en',
  '00:00:01.000 --> 00:00:03.000\nTurn the wheel',
  '00:00:03.000 --> 00:00:05.000\nslowly to the left.\n',
].join('\n\n');
const track = { baseUrl: `https://www.youtube.com/api/timedtext?v=${videoId}&lang=en`, languageCode: 'en' };
const player = {
  playabilityStatus: { status: 'OK' },
  videoDetails: { videoId, title: 'How to open a sluice' },
  captions: { playerCaptionsTracklistRenderer: { captionTracks: [track] } },
};
const page = `<html><body><script>var ytInitialPlayerResponse = ${JSON.stringify(player)};</script></body></html>`;

let isBlocked = false;
const peer = createServer((request, response) => {
  if (isBlocked) return response.writeHead(429).end();
  if (request.url?.startsWith('/watch')) return response.setHeader('content-type', 'text/html').end(page);
  return response.setHeader('content-type', 'text/vtt').end(captions);
});
beforeAll(() => new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  peer.close();
});

const database = useDatabase();
const words = wordEmbedder();
const knowledge = useKnowledge(database, {
  customEmbedders: [words.definition],
  get youtubeBaseUrl() {
    return `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
  },
});

test('a video is found by its spoken words, and stays found when its captions are blocked', async () => {
  const claims: TestClaims & { tenantId: string } = { tenantId: await newTenant(database), role: 'admin' };
  const sources = [{ type: 'youtube', url: `https://youtu.be/${videoId}` }];
  const made = await knowledge.create(claims, {
    kb_id: 'video',
    name: 'V',
    embedder: words.embedder,
    sources,
  });
  expect(made.status, made.text).toBe(201);
  await knowledge.start(claims, 'video');
  await knowledge.drive(claims.tenantId);
  const found = { uri: `https://www.youtube.com/watch?v=${videoId}`, title: 'How to open a sluice' };
  const first = async () => {
    const { body } = await knowledge.search(claims, 'video', { query: 'wheel to the left', limit: 1 });
    return (body.results as Record<string, unknown>[])[0];
  };
  expect(await first()).toMatchObject({
    text: expect.stringContaining('slowly to the left'),
    document: found,
  });
  isBlocked = true;
  await knowledge.start(claims, 'video');
  await knowledge.drive(claims.tenantId);
  expect(await knowledge.status(claims, 'video')).toMatchObject({
    status: 'completed',
    counters: { docs_error: 1, docs_gone: 0 },
  });
  const { body } = await knowledge.call(claims, '/api/knowledge/video/documents?state=error');
  expect(body.data).toMatchObject([{ uri: found.uri, error_code: 'captions_blocked' }]);
  expect(JSON.stringify(body.data)).toMatch(/VTT|SRT/);
  expect(await first()).toMatchObject({ document: found });
});

test.each(['https://example.com/watch?v=abcdefghijk', 'https://www.youtube.com/playlist?list=PL1'])(
  'an address that is not a video (%s) is refused on submission, not when it is read',
  async (url) => {
    const claims: TestClaims = { tenantId: await newTenant(database), role: 'admin' };
    const kb = {
      kb_id: 'no-video',
      name: 'N',
      embedder: words.embedder,
      sources: [{ type: 'youtube', url }],
    };
    const { status, body } = await knowledge.create(claims, kb);
    expect(status).toBe(400);
    expect(JSON.stringify(body.errors)).toContain('must be the address of a single video');
  },
);

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { defineTask } from '../../src/library.ts';
import { openTestSluice } from '../../src/testing.ts';
import { testTokens } from '../support/servers/server.ts';

const echo = defineTask({ name: 'echo', input: z.object({ text: z.string() }), run: ({ text }) => text });
const settings = {
  jwtSecret: testTokens.secret,
  jwtIssuer: testTokens.issuer,
  jwtAudience: testTokens.audience,
};
const open = () => openTestSluice({ tasks: [echo], work: true, settings });
let sluice: Awaited<ReturnType<typeof open>>;
let headers: Record<string, string>;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  sluice = await open();
  const claims = { tenantId: 'acme', userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  headers = {
    authorization: `Bearer ${await mintToken(testTokens, claims)}`,
    'content-type': 'application/json',
  };
});
afterAll(async () => {
  for (const close of closers) await close();
  await sluice.stop();
});

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

async function speaksTheApi(ask: Ask): Promise<void> {
  const body = JSON.stringify({ input: { text: 'hello' } });
  const made = await ask('/api/tasks/echo', { method: 'POST', headers, body });
  const { jobId } = (await made.json()) as { jobId: string };
  expect([made.status, made.headers.get('location')]).toEqual([202, `/api/jobs/${jobId}`]);
  expect(await sluice.wait('acme', jobId)).toMatchObject({ result: 'hello' });
  const shown = await ask(`/api/jobs/${jobId}`, { headers });
  expect(await shown.json()).toMatchObject({ jobId, status: 'success', result: 'hello', kind: 'task' });
  expect((await ask('/api/jobs')).status).toBe(401);
}

async function follows(ask: Ask): Promise<void> {
  const leaving = new AbortController();
  const stream = await ask('/api/events/stream', { headers, signal: leaving.signal });
  expect([stream.status, stream.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  const { jobId } = await sluice.dispatch('echo', { text: 'a' }, { tenantId: 'acme' });
  let heard = '';
  while (!heard.includes('job.completed') || !heard.includes(jobId))
    heard += (await reader?.read())?.value ?? '';
  await reader?.cancel();
  leaving.abort();
}

describe('sluice.fetch', () => {
  const ask: Ask = (path, init) => sluice.fetch(new Request(`http://app.example.com${path}`, init));
  test('serves the API', () => speaksTheApi(ask));
  test('streams events, and ends when nobody reads them', () => follows(ask));
  test('serves below a prefix, and nothing beside it', async () => {
    const below: Ask = (path, init) =>
      sluice.fetch(new Request(`http://app.example.com/sluice${path}`, init), { prefix: '/sluice' });
    await speaksTheApi(below);
    const beside = await sluice.fetch(new Request('http://app.example.com/other'), { prefix: '/sluice' });
    expect(beside.status).toBe(404);
  });
  test('counts nobody as this machine: the metrics stay closed', async () => {
    expect((await sluice.fetch(new Request('http://localhost/metrics'))).status).toBe(401);
  });
});

describe('the handler for node:http', () => {
  let url = '';
  beforeAll(async () => {
    const server = createServer(sluice.handler);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    closers.push(() => server.close());
  });
  test('serves the API', () => speaksTheApi((path, init) => fetch(`${url}${path}`, init)));
  test('streams events', () => follows((path, init) => fetch(`${url}${path}`, init)));
});

describe('the plugin for Fastify', () => {
  let url = '';
  beforeAll(async () => {
    const host = Fastify();
    host.post('/own', async (request) => ({ heard: request.body }));
    await host.register(sluice.fastify, { prefix: '/sluice' });
    url = await host.listen({ port: 0, host: '127.0.0.1' });
    closers.push(() => host.close());
  });
  test('serves the API below its prefix', () =>
    speaksTheApi((path, init) => fetch(`${url}/sluice${path}`, init)));
  test('leaves the routes of the host as they are', async () => {
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' };
    expect(await (await fetch(`${url}/own`, sent)).json()).toEqual({ heard: { a: 1 } });
  });
});

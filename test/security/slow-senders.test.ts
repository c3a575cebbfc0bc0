import { connect, type Socket } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { formType } from '../generators/multipart-body.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { Tally } from './tally.ts';

// Connections that bring a byte now and then, to a started server with a short window.
const database = useDatabase();
const server = useServerProcess(database, { SLUICE_WORKER: 'false', SLOW_BODY_SECONDS: '2' });
const tally = new Tally('Senders that drip', 200);

afterAll(() => expect(tally.report()).toBeGreaterThanOrEqual(tally.quota));

interface Dripping {
  what: string;
  isOpen: boolean;
  answer: string;
  socket: Socket;
}

/** Sends the head and then a byte every half second, until the server closes the connection. */
function drip(what: string, head: readonly string[]): Dripping {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const dripping: Dripping = { what, isOpen: true, answer: '', socket };
  const timer = setInterval(() => socket.write('x'), 500);
  socket.on('data', (piece) => {
    dripping.answer += piece.toString();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    clearInterval(timer);
    dripping.isOpen = false;
  });
  socket.write(head.map((line) => `${line}\r\n`).join(''));
  return dripping;
}

const lengthy = ['host: localhost', 'content-length: 100000'];
const json = 'content-type: application/json';

async function heads(): Promise<Record<string, string[]>> {
  const { authorization } = await server.bearer({ tenantId: 'drips' });
  const own = `authorization: ${authorization}`;
  return {
    'an anonymous login': [
      'POST /api/session HTTP/1.1',
      ...lengthy.with(1, 'content-length: 9000'),
      json,
      '',
    ],
    'a body of data': ['POST /api/catalogs/x/match HTTP/1.1', ...lengthy, json, own, ''],
    'a form': ['POST /api/uploads HTTP/1.1', ...lengthy, `content-type: ${formType}`, own, ''],
    'a form without a login': ['POST /api/uploads HTTP/1.1', ...lengthy, `content-type: ${formType}`, ''],
    'a body in chunks': [
      'POST /api/workspaces HTTP/1.1',
      'host: x',
      'transfer-encoding: chunked',
      json,
      own,
      '',
      '5',
    ],
    'a body where none is read': ['GET /api/me HTTP/1.1', ...lengthy, own, ''],
    'a body for no route': ['POST /nowhere HTTP/1.1', ...lengthy, json, ''],
    'a body for a broken path': ['POST /%zz HTTP/1.1', ...lengthy, json, ''],
  };
}

describe('two hundred connections that drip a body', () => {
  test('are all closed, and nobody else is refused meanwhile', { timeout: 180_000 }, async () => {
    const all = Object.entries(await heads()).flatMap(([what, head]) =>
      Array.from({ length: 25 }, () => drip(what, head)),
    );
    expect(all.length).toBe(200);
    const headers = await server.bearer({ tenantId: 'honest' });
    const isOver = async () => {
      // Not counted: the number of rounds depends on the machine.
      expect((await fetch(`${server.url}/api/me`, { headers })).status).toBe(200);
      return all.every(({ isOpen }) => !isOpen);
    };
    await eventually(isOver, 'every dripping connection is closed', 120_000).finally(() => {
      for (const { socket } of all) socket.destroy();
    });
    for (const { what, isOpen, answer } of all) {
      tally.equal({ what, isOpen }, { what, isOpen: false });
      const isRefusal = /^HTTP\/1\.1 (4\d\d|200)/.test(answer) || answer === '';
      tally.ok(isRefusal, `${what} got ${answer.slice(0, 100)}`);
    }
    for (const what of ['an anonymous login', 'a body of data', 'a form', 'a body in chunks']) {
      const told = all.find((one) => one.what === what)?.answer ?? '';
      tally.ok(told.includes('"code":"body_too_slow"'), `${what} was told ${told.slice(0, 300)}`);
    }
  });

  test('also when they never finish their headers', { timeout: 180_000 }, async () => {
    const all = Array.from({ length: 20 }, () => drip('headers', ['GET / HTTP/1.1', 'x-a: 1', 'x-b: ']));
    const isOver = async () => all.every(({ isOpen }) => !isOpen);
    await eventually(isOver, 'every dripping connection is closed', 120_000).finally(() => {
      for (const { socket } of all) socket.destroy();
    });
    for (const { answer } of all)
      tally.ok(/^HTTP\/1\.1 408/.test(answer), `a header got ${answer.slice(0, 100)}`);
  });
});

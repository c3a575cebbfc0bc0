import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { guardedFetch, type Handler, type Site, serveSite } from '../../../test/support/fakes/local-site.ts';

const hello: Handler = (_request, response) => response.end('hello');

describe('an answer', () => {
  const localUrl = (site: Site) => `http://127.0.0.1:${site.port}/`;
  const open = () => guardedFetch({ blockPrivateAddresses: false });

  test('is inflated, whatever encoding it came in', async () => {
    const text = 'sluice '.repeat(1000);
    const encoded: Record<string, Buffer> = {
      gzip: gzipSync(text),
      br: brotliCompressSync(text),
      'gzip, br': brotliCompressSync(gzipSync(text)),
      identity: Buffer.from(text),
    };
    const site = await serveSite('127.0.0.1', (request, response) => {
      const encoding = decodeURIComponent(request.url?.slice(1) ?? '');
      response.writeHead(200, { 'content-encoding': encoding }).end(encoded[encoding]);
    });
    const fetch = open();
    for (const encoding of Object.keys(encoded)) {
      const { body } = await fetch(localUrl(site) + encodeURIComponent(encoding));
      expect(body.toString(), encoding).toBe(text);
    }
  });

  test('an answer that inflates beyond the limit is cut off, however small it was on the wire', async () => {
    const zeros = Buffer.alloc(20_000_000);
    const bombs: Record<string, Buffer> = {
      gzip: gzipSync(zeros),
      br: brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
      'gzip, gzip': gzipSync(gzipSync(zeros)),
    };
    const site = await serveSite('127.0.0.1', (request, response) => {
      const encoding = decodeURIComponent(request.url?.slice(1) ?? '');
      response.writeHead(200, { 'content-encoding': encoding }).end(bombs[encoding]);
    });
    const fetch = open();
    for (const encoding of Object.keys(bombs)) {
      await expect(
        fetch(localUrl(site) + encodeURIComponent(encoding), { maxBytes: 1_000_000 }),
        encoding,
      ).rejects.toMatchObject({ code: 'response_too_large', kind: 'invalid' });
    }
  });

  test('an answer that is too large is refused, announced or not', async () => {
    const site = await serveSite('127.0.0.1', (request, response) => {
      if (request.url === '/announced') response.setHeader('content-length', '2000001');
      for (let sent = 0; sent < 20; sent += 1) response.write(Buffer.alloc(100_000));
      response.end('x');
    });
    for (const path of ['announced', 'endless']) {
      await expect(open()(localUrl(site) + path, { maxBytes: 1_000_000 }), path).rejects.toMatchObject({
        code: 'response_too_large',
      });
    }
    expect((await open()(localUrl(site), { maxBytes: 2_000_001 })).body).toHaveLength(2_000_001);
  });

  test('with too many headers is refused', async () => {
    const site = await serveSite('127.0.0.1', (_request, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end();
    });
    await expect(open()(localUrl(site))).rejects.toMatchObject({ code: 'response_too_large' });
  });

  test('in an encoding that we did not ask for is refused, and so is a pile of encodings', async () => {
    const site = await serveSite('127.0.0.1', (request, response) => {
      response
        .writeHead(200, { 'content-encoding': decodeURIComponent(request.url?.slice(1) ?? '') })
        .end('x');
    });
    for (const encoding of ['zstd', 'constructor', 'gzip, gzip, gzip']) {
      await expect(open()(localUrl(site) + encodeURIComponent(encoding)), encoding).rejects.toMatchObject({
        code: 'fetch_failed',
      });
    }
  });

  test('an answer that is cut short is an error, plain and compressed', async () => {
    const site = await serveSite('127.0.0.1', (request, response) => {
      if (request.url === '/gzip') {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end(gzipSync('sluice '.repeat(1000)).subarray(0, 30));
        return;
      }
      response.writeHead(200, request.url === '/length' ? { 'content-length': '100' } : {});
      response.write('short', () => response.destroy());
    });
    for (const path of ['gzip', 'length', 'chunked']) {
      await expect(open()(localUrl(site) + path), path).rejects.toMatchObject({
        code: 'fetch_failed',
        kind: 'transient',
      });
    }
  });

  test('without a body is empty, even when it announces gzip', async () => {
    const site = await serveSite('127.0.0.1', (request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { 'content-encoding': 'gzip' }).end();
    });
    for (const status of ['200', '204', '304']) {
      expect((await open()(localUrl(site) + status)).body, status).toHaveLength(0);
    }
    expect((await open()(`${localUrl(site)}200`, { method: 'HEAD' })).status).toBe(200);
  });

  test('has headers without a prototype, whatever their names', async () => {
    const site = await serveSite('127.0.0.1', (_request, response) => {
      response
        .setHeader('__proto__', 'a')
        .setHeader('constructor', 'b')
        .setHeader('set-cookie', ['c=1', 'd=2']);
      response.end();
    });
    const { headers } = await open()(localUrl(site));
    expect(Object.getPrototypeOf(headers)).toBeNull();
    expect(Object.entries(headers)).toEqual(
      expect.arrayContaining([
        ['__proto__', 'a'],
        ['constructor', 'b'],
        ['set-cookie', 'c=1, d=2'],
      ]),
    );
  });

  test('can be read as a stream, under the same limits', async () => {
    const site = await serveSite('127.0.0.1', (_request, response) => response.end(Buffer.alloc(300_000)));
    const answer = await open().stream(localUrl(site));
    let seenBytes = 0;
    for await (const chunk of answer.body) seenBytes += (chunk as Buffer).length;
    expect(seenBytes).toBe(300_000);
    const tooLong = await open()
      .stream(localUrl(site), { maxBytes: 300_000 - 1 })
      .catch((error) => error);
    expect(tooLong).toMatchObject({ code: 'response_too_large' });
  });
});

describe('a server that stalls', () => {
  const stalls: Record<string, Handler> = {
    'before its answer': () => {},
    'in its body': (_request, response) => response.writeHead(200, { 'content-length': '100' }).write('x'),
    'with a byte now and then': (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    },
  };

  for (const [where, handler] of Object.entries(stalls)) {
    test(`${where} is cut off at the time limit`, async () => {
      const site = await serveSite('127.0.0.1', handler);
      const fetch = guardedFetch({ blockPrivateAddresses: false });
      const started = performance.now();
      await expect(fetch(`http://127.0.0.1:${site.port}/`, { timeoutMs: 200 })).rejects.toMatchObject({
        code: 'fetch_timeout',
        kind: 'transient',
      });
      expect(performance.now() - started).toBeLessThan(20_000);
    });

    test(`${where} is left when the caller gives up, with the caller's own reason`, async () => {
      const site = await serveSite('127.0.0.1', handler);
      const caller = new AbortController();
      const fetch = guardedFetch({ blockPrivateAddresses: false });
      const outcome = fetch(`http://127.0.0.1:${site.port}/`, { signal: caller.signal });
      const reason = new Error('enough');
      setTimeout(() => caller.abort(reason), 50);
      await expect(outcome).rejects.toBe(reason);
    });
  }

  test('keeps others waiting for a connection no longer than their own time limit', async () => {
    const site = await serveSite('127.0.0.1', () => {});
    const fetch = guardedFetch({ blockPrivateAddresses: false, maxConnections: 1 });
    const url = `http://127.0.0.1:${site.port}/`;
    const first = fetch(url, { timeoutMs: 60_000 }).catch((error: Error) => error);
    const started = performance.now();
    await expect(fetch(url, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'fetch_timeout' });
    expect(performance.now() - started).toBeLessThan(20_000);
    await fetch.close();
    await first;
  });

  test('in its name server is cut off at the time limit', async () => {
    const fetch = guardedFetch({ resolve: () => new Promise(() => {}) });
    const started = performance.now();
    await expect(fetch('http://slow.test/', { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'fetch_timeout',
    });
    await fetch.close();
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe('a request', () => {
  test('to a name without an address, or to a closed port, fails as something that may pass', async () => {
    const unknown = guardedFetch({ resolve: async () => [] });
    await expect(unknown('http://gone.test/')).rejects.toMatchObject({ code: 'host_not_found' });
    const failing = guardedFetch({
      resolve: async () => {
        throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
      },
    });
    await expect(failing('http://gone.test/')).rejects.toMatchObject({
      code: 'host_not_found',
      kind: 'transient',
    });
    const closed = guardedFetch({ blockPrivateAddresses: false });
    await expect(closed('http://127.0.0.1:2/')).rejects.toMatchObject({
      code: 'fetch_failed',
      kind: 'transient',
    });
  });

  test('cannot smuggle a header, another host or another framing', async () => {
    const site = await serveSite('127.0.0.1', hello);
    const fetch = guardedFetch({ blockPrivateAddresses: false });
    const bad: Record<string, string>[] = [
      { 'x-a': 'b\r\nx-c: d' },
      { 'x-a': 'b\n' },
      { 'x-a\r\nx-b': 'c' },
      { 'x a': 'b' },
      { Host: 'inner.test' },
      { 'Content-Length': '0' },
      { 'Transfer-Encoding': 'chunked' },
      { Upgrade: 'websocket' },
      { 'Proxy-Authorization': 'Basic x' },
    ];
    for (const headers of bad) {
      const outcome = fetch(`http://127.0.0.1:${site.port}/`, { headers });
      await expect(outcome, JSON.stringify(headers)).rejects.toMatchObject({ code: 'fetch_request_invalid' });
    }
    expect(site.connections).toBe(0);
  });

  test('names the header and hides its value when the value is unusable', async () => {
    const fetch = guardedFetch();
    const outcome = fetch('http://public.test/', { headers: { 'x-key': 'sk-secret\n' } });
    const message = await outcome.catch((error: Error) => error.message);
    expect(message).toContain('x-key');
    expect(message).not.toContain('sk-secret');
  });
});

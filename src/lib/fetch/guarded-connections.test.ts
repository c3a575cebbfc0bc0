import { describe, expect, test } from 'vitest';
import { guardedFetch, type Handler, serveSite } from '../../../test/support/fakes/local-site.ts';

/** Loopback has many addresses: one of them plays the public internet, the others stay private. */
const publicHost = '127.0.0.2';
const playPublic = (address: string) => (address === publicHost ? null : 'private');

const hello: Handler = (_request, response) => response.end('hello');

/** `{port}` is that of a server on every address of this machine, which must never be called. */
const vectors: Record<string, string[]> = {
  'an IPv4 literal': [
    'http://127.0.0.1:{port}/',
    'http://127.0.0.2:{port}/',
    'http://127.255.255.255:{port}/',
    'http://0.0.0.0:{port}/',
    'http://10.0.0.1:{port}/',
    'http://172.16.0.1:{port}/',
    'http://192.168.1.1:{port}/',
    'http://100.64.0.1:{port}/',
    'http://198.18.0.1:{port}/',
    'http://192.0.2.1:{port}/',
    'http://203.0.113.9:{port}/',
    'http://224.0.0.1:{port}/',
    'http://240.0.0.1:{port}/',
    'http://255.255.255.255:{port}/',
  ],
  'a metadata address': [
    'http://169.254.169.254/latest/meta-data/',
    'http://169.254.170.2/v2/credentials',
    'http://100.100.100.200/latest/meta-data/',
    'http://168.63.129.16/machine?comp=goalstate',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://0xa9fea9fe/latest/meta-data/',
    'http://2852039166/latest/meta-data/',
    'http://[::ffff:a9fe:a9fe]/latest/meta-data/',
  ],
  'another spelling of an address': [
    'http://2130706433:{port}/',
    'http://0x7f000001:{port}/',
    'http://0x7f.0x0.0x0.0x1:{port}/',
    'http://0177.0.0.1:{port}/',
    'http://017700000001:{port}/',
    'http://00000177.0.0.01:{port}/',
    'http://127.1:{port}/',
    'http://127.0.1:{port}/',
    'http://127.0.0.1.:{port}/',
    'http://0:{port}/',
    'http://0x0:{port}/',
    'http://１２７.０.０.１:{port}/',
    'http://①②⑦.⓪.⓪.①:{port}/',
    'http://127。0。0。1:{port}/',
    'http://%31%32%37.0.0.1:{port}/',
    'http:127.0.0.1:{port}/',
    'http:\\\\127.0.0.1:{port}\\',
    'http:///127.0.0.1:{port}/',
    '\thttp://127.0.0.1:{port}/',
    'ht\ntp://127.0.0.1:{port}/',
  ],
  'an IPv6 literal': [
    'http://[::1]:{port}/',
    'http://[0:0:0:0:0:0:0:1]:{port}/',
    'http://[::]:{port}/',
    'http://[::ffff:127.0.0.1]:{port}/',
    'http://[::ffff:7f00:1]:{port}/',
    'http://[::127.0.0.1]:{port}/',
    'http://[64:ff9b::7f00:1]:{port}/',
    'http://[2002:7f00:1::]:{port}/',
    'http://[2001:0:7f00:1::]:{port}/',
    'http://[fe80::1]:{port}/',
    'http://[fe80::1%25lo]:{port}/',
    'http://[fc00::1]:{port}/',
    'http://[fec0::1]:{port}/',
    'http://[ff02::1]:{port}/',
    'http://[2001:db8::1]:{port}/',
  ],
  'a user name before the host': [
    'http://example.com@127.0.0.1:{port}/',
    'http://example.com:80@127.0.0.1:{port}/',
    'http://127.0.0.1:{port}@public.test/',
    'http://public.test%2f@127.0.0.1:{port}/',
    'http://user:password@127.0.0.1:{port}/',
  ],
  'a name': [
    'http://localhost:{port}/',
    'http://LOCALHOST:{port}/',
    'http://localhost.:{port}/',
    'http://loop.test:{port}/',
    'http://metadata.google.internal:{port}/',
    'http://mixed.test:{port}/',
    'http://mapped.test:{port}/',
    'http://nat64.test:{port}/',
    'http://zoned.test:{port}/',
    'https://loop.test:{port}/',
  ],
  'another scheme': [
    'file:///etc/passwd',
    'ftp://127.0.0.1:{port}/',
    'gopher://127.0.0.1:{port}/_GET',
    'data:text/plain,hello',
    'javascript:alert(1)',
    'ws://127.0.0.1:{port}/',
    'unix:/var/run/docker.sock',
    '//127.0.0.1:{port}/',
    '/relative',
    '',
  ],
  'a port of another service': [
    'http://public.test:22/',
    'http://public.test:25/',
    'http://public.test:6379/',
  ],
};

const names: Record<string, string[]> = {
  'loop.test': ['127.0.0.1'],
  localhost: ['127.0.0.1', '::1'],
  'localhost.': ['127.0.0.1'],
  'metadata.google.internal': ['169.254.169.254'],
  'mixed.test': ['8.8.8.8', '127.0.0.1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'nat64.test': ['64:ff9b::7f00:1'],
  'zoned.test': ['fe80::1%lo'],
};
const resolveNames = async (hostname: string) =>
  (names[hostname] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('a URL that leads inside', () => {
  const count = Object.values(vectors).flat().length;

  test('is refused in at least 60 spellings', () => {
    expect(count).toBeGreaterThanOrEqual(60);
  });

  for (const [kind, urls] of Object.entries(vectors)) {
    test(`is refused as ${kind}`, async () => {
      const site = await serveSite('::', hello);
      const fetch = guardedFetch({ resolve: resolveNames });
      for (const url of urls) {
        const outcome = fetch(url.replaceAll('{port}', String(site.port)), { timeoutMs: 5000 });
        await expect(outcome, url).rejects.toMatchObject({
          code: expect.stringMatching(/^(address_blocked|url_invalid)$/),
          kind: 'invalid',
        });
      }
      expect(site.connections).toBe(0);
    });
  }

  test('is called where private addresses are allowed, so the servers above could have been hit', async () => {
    const site = await serveSite('::', hello);
    const fetch = guardedFetch({ blockPrivateAddresses: false, resolve: resolveNames });
    const reachable = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '[::1]',
      '[::ffff:127.0.0.1]',
      'loop.test',
      'localhost',
    ];
    for (const host of reachable) {
      expect((await fetch(`http://${host}:${site.port}/`)).body.toString(), host).toBe('hello');
    }
    expect(site.requests).toHaveLength(reachable.length);
    await expect(fetch('http://169.254.169.254/')).rejects.toMatchObject({ code: 'address_blocked' });
    await expect(fetch('file:///etc/passwd')).rejects.toMatchObject({ code: 'url_invalid' });
  });

  test('does not tell in its refusal which inner address a name has', async () => {
    const fetch = guardedFetch({ resolve: async () => [{ address: '10.20.30.40', family: 4 }] });
    const refusal = await fetch('http://intranet.test/').catch((error: Error) => error.message);
    expect(refusal).toContain('intranet.test');
    expect(refusal).not.toContain('10.20.30.40');
  });
});

describe('a name that changes its address', () => {
  test('is connected to at the address that was checked, and refused once it points inside', async () => {
    const open = await serveSite(publicHost, hello);
    const inner = await serveSite('127.0.0.1', hello, open.port);
    const answers = [publicHost, '127.0.0.1', '127.0.0.1'];
    let lookups = 0;
    const resolve = async () => {
      lookups += 1;
      return [{ address: answers[lookups - 1] ?? '127.0.0.1', family: 4 }];
    };
    const url = `http://rebind.test:${open.port}/`;
    const first = guardedFetch({ resolve, refuse: playPublic });
    expect((await first(url)).status).toBe(200);
    expect(lookups).toBe(1);
    await first.close();
    await expect(guardedFetch({ resolve, refuse: playPublic })(url)).rejects.toMatchObject({
      code: 'address_blocked',
    });
    expect([open.requests.length, inner.connections]).toEqual([1, 0]);
  });
});

describe('a redirect', () => {
  const to = (location: string, status = 302): Handler => {
    return (_request, response) => response.writeHead(status, { location }).end();
  };

  test('to an inner address is refused, in every spelling', async () => {
    const inner = await serveSite('127.0.0.1', hello);
    const targets = ['127.0.0.1', '127.1', '[::1]', 'loop.test', '0x7f000001', '[::ffff:127.0.0.1]'];
    const open = await serveSite(publicHost, (request, response) =>
      to(`http://${targets[Number(request.url?.slice(1))]}:${inner.port}/`)(request, response),
    );
    const fetch = guardedFetch({ resolve: resolveNames, refuse: playPublic });
    for (const index of targets.keys()) {
      await expect(fetch(`http://${publicHost}:${open.port}/${index}`), targets[index]).rejects.toMatchObject(
        {
          code: 'address_blocked',
        },
      );
    }
    expect([open.requests.length, inner.connections]).toEqual([targets.length, 0]);
  });

  test('to another scheme, or with a user name in it, is refused', async () => {
    for (const location of [
      'file:///etc/passwd',
      'ftp://public.test/',
      'http://a:b@public.test/',
      'http://',
    ]) {
      const open = await serveSite(publicHost, to(location));
      await expect(
        guardedFetch({ refuse: playPublic })(`http://${publicHost}:${open.port}/`),
        location,
      ).rejects.toMatchObject({ code: 'url_invalid' });
    }
  });

  test('is followed at most five times, and not at all when none is wanted', async () => {
    const open = await serveSite(publicHost, (request, response) =>
      to(`/${Number(request.url?.slice(1)) + 1}`)(request, response),
    );
    const fetch = guardedFetch({ refuse: playPublic });
    const url = `http://${publicHost}:${open.port}/0`;
    await expect(fetch(url)).rejects.toMatchObject({ code: 'too_many_redirects' });
    expect(open.requests).toHaveLength(6);
    const answer = await fetch(url, { maxRedirects: 0 });
    expect([answer.status, answer.headers.location]).toEqual([302, '/1']);
  });

  test('to another origin leaves keys behind, to the same origin takes them along', async () => {
    const far = await serveSite(publicHost, hello);
    const near = await serveSite(publicHost, (request, response) => {
      if (request.url === '/far') to(`http://${publicHost}:${far.port}/`)(request, response);
      else if (request.url === '/near') to('/end')(request, response);
      else response.end('near');
    });
    const fetch = guardedFetch({ refuse: playPublic });
    const headers = { authorization: 'Bearer k', cookie: 'a=b', 'X-Api-Key': 'k', accept: 'text/plain' };
    await fetch(`http://${publicHost}:${near.port}/far`, { headers });
    await fetch(`http://${publicHost}:${near.port}/near`, { headers });
    const arrived = far.requests[0]?.headers ?? {};
    expect(arrived).toMatchObject({ accept: 'text/plain', 'user-agent': 'test/1' });
    expect(Object.keys(arrived)).not.toEqual(expect.arrayContaining(['authorization']));
    expect([arrived.cookie, arrived['x-api-key']]).toEqual([undefined, undefined]);
    expect(near.requests.at(-1)?.headers).toMatchObject({ authorization: 'Bearer k', 'x-api-key': 'k' });
  });

  test('turns a POST into a GET for 302 and 303, and repeats it for 307', async () => {
    const seen: string[] = [];
    const open = await serveSite(publicHost, (request, response) => {
      const status = Number(request.url?.slice(1));
      if (status > 0) return to('/0', status)(request, response);
      request.setEncoding('utf8').on('data', (text) => seen.push(text));
      request.on('end', () => {
        seen.push(request.method ?? '');
        response.end();
      });
    });
    const fetch = guardedFetch({ refuse: playPublic });
    for (const status of [302, 303, 307]) {
      await fetch(`http://${publicHost}:${open.port}/${status}`, { method: 'POST', body: 'text' });
    }
    expect(seen).toEqual(['GET', 'GET', 'text', 'POST']);
  });
});

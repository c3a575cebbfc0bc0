import { expect, test } from 'vitest';
import { guardedFetch, serveSite } from '../../../test/support/fakes/local-site.ts';
import { LentSecret, SecretPurse } from './lent-secret.ts';

const value = 'a-key-7391';

function purseFor(hosts: string[]): SecretPurse {
  const lend = async () => new LentSecret({ value: `${value}\n`, hosts });
  return new SecretPurse({ lend }, { tenantId: 't', role: 'admin', use: 'processor:mine' });
}

async function site(handler = (_url: string): { status: number; location?: string } => ({ status: 200 })) {
  const served = await serveSite('127.0.0.1', (request, response) => {
    const { status, location } = handler(request.url ?? '');
    request.resume().on('end', () => response.writeHead(status, location ? { location } : {}).end('{}'));
  });
  return { served, host: `127.0.0.1:${served.port}`, url: `http://127.0.0.1:${served.port}/` };
}

const refused = { code: 'secret_host_not_allowed' };

test('a fetch does not carry a lent secret to another host, wherever the request holds it', async () => {
  const [ours, other] = [await site(), await site()];
  const purse = purseFor([ours.host]);
  const fetch = purse.guard(guardedFetch({ blockPrivateAddresses: false }));
  await purse.take('key');
  const inBase64 = Buffer.from(`user:${value}`).toString('base64');
  const requests = [
    { headers: { authorization: `Bearer ${value}` } },
    { headers: { authorization: `Basic ${inBase64}` } },
    { method: 'POST', body: JSON.stringify({ key: value }) },
    { method: 'POST', body: Buffer.from(`k=${value}`) },
  ] as const;
  for (const request of requests) {
    await expect(fetch(other.url, request)).rejects.toMatchObject(refused);
    await expect(fetch.stream(other.url, request)).rejects.toMatchObject(refused);
    expect((await fetch(ours.url, request)).status).toBe(200);
  }
  await expect(fetch(`${other.url}?k=${value}`)).rejects.toMatchObject(refused);
  await expect(fetch(`${other.url}${value}/x`)).rejects.toMatchObject(refused);
  expect(other.served.requests).toEqual([]);
  // Without the secret the other host can be called.
  expect((await fetch(other.url)).status).toBe(200);
});

test('a body that a redirect would repeat elsewhere is not sent there', async () => {
  const other = await site();
  const ours = await site(() => ({ status: 307, location: other.url }));
  const purse = purseFor([ours.host]);
  const fetch = purse.guard(guardedFetch({ blockPrivateAddresses: false }));
  await purse.take('key');
  const request = { method: 'POST', body: `{"key":"${value}"}` } as const;
  await expect(fetch(ours.url, request)).rejects.toMatchObject(refused);
  expect(other.served.requests).toEqual([]);
  expect((await fetch(ours.url, { method: 'POST', body: '{}' })).status).toBe(200);
});

test('an error loses the secret from its message, its stack and its causes', () => {
  const lent = new LentSecret({ value, hosts: ['h'] });
  const error = new Error(`outer ${value}`, { cause: new Error(`inner ${value}`) });
  expect(lent.scrubError(error)).toBe(error);
  const cause = error.cause as Error;
  for (const text of [error.message, error.stack, cause.message, cause.stack]) {
    expect(text).toContain('[redacted]');
    expect(text).not.toContain(value);
  }
});

test('an address that cannot be read is none that a secret may go to', () => {
  const lent = new LentSecret({ value, hosts: ['h'] });
  expect(() => lent.assertMayGoTo('ftp://two hosts:21')).toThrow(expect.objectContaining(refused));
  expect(() => lent.assertMayGoTo('ftp://h:21')).not.toThrow();
});

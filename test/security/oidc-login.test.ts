import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createOidcProvider } from '../../src/kernel/tenancy/oidc/provider.ts';
import { newId } from '../../src/lib/ids.ts';
import { systemClock } from '../../src/lib/timing/clock.ts';
import { Browser } from '../support/fakes/cookie-browser.ts';
import { useLoginProvider } from '../support/fakes/login-provider.ts';
import { useServer } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// Two servers with one real provider: one whose people all belong to one tenant, one where a claim names it.
const database = useDatabase();
const provider = useLoginProvider();
const tenantId = `t-${newId()}`;
const server = useServer(database, { config: configOf(tenantId) });
const byClaim = useServer(database, { config: configOf('claim:org') });
const withoutProvider = useServer(database);

beforeAll(() => {
  for (const { url } of [server, byClaim]) provider.allowRedirect(`${url}/login/oidc/callback`);
});
beforeEach(() => {
  provider.forge = null;
});

/** The address of the provider is known when the server starts. */
function configOf(oidcTenant: string) {
  return {
    get oidcIssuer() {
      return provider.issuer;
    },
    oidcClientId: provider.client.id,
    oidcClientSecret: provider.client.secret,
    oidcScopes: 'openid profile email groups',
    oidcRoles: 'admins:admin; cn=support,ou=groups:support; staff:member; ops:operator',
    oidcName: 'Example',
    oidcTenant,
  };
}

/** Goes through the whole sign-in and returns where it ends, and the browser. */
async function signIn(at = server, to = '/uploads?status=failed') {
  const browser = new Browser();
  const end = await browser.follow(`${at.url}/login/oidc?${new URLSearchParams({ to })}`);
  return { browser, end: end.replace(at.url, '') };
}

async function me(browser: Browser, at = server): Promise<Record<string, unknown>> {
  return (await (await browser.get(`${at.url}/api/me`)).json()) as Record<string, unknown>;
}

/** Everything but the last step: the address of the callback, with the provider's code. */
async function untilCallback(at = server) {
  const browser = new Browser();
  const callback = await browser.follow(`${at.url}/login/oidc`, (url) =>
    url.includes('/login/oidc/callback'),
  );
  return { browser, callback: new URL(callback) };
}

const person = (more: object = {}) => ({ sub: `u-${newId()}`, groups: ['staff'], ...more });

describe('a sign-in with the login provider', () => {
  test('ends where the person wanted to go, as the user that the provider names', async () => {
    provider.person = person({ name: 'Ada', email: 'ada@example.com', email_verified: true });
    const { browser, end } = await signIn();
    expect(end).toBe('/uploads?status=failed');
    expect(await me(browser)).toMatchObject({
      user_id: provider.person.sub,
      tenant_id: tenantId,
      role: 'member',
      via: 'session',
    });
    const listed = await server.app.inject({
      url: '/api/users?limit=500',
      headers: await server.bearer({ tenantId }),
    });
    expect(listed.json().data).toContainEqual(
      expect.objectContaining({ user_id: provider.person.sub, name: 'Ada', email: 'ada@example.com' }),
    );
  });

  test('takes the first pair of the mapping that fits, also for groups with = and , in their names', async () => {
    provider.person = person({ groups: ['staff', 'cn=support,ou=groups'] });
    expect(await me((await signIn()).browser)).toMatchObject({ role: 'support' });
    provider.person = person({ groups: ['staff', 'admins', 'cn=support,ou=groups'] });
    expect(await me((await signIn()).browser)).toMatchObject({ role: 'admin' });
  });

  test('makes an operator only of who is in a group that the operator named for it', async () => {
    for (const groups of [['operator'], ['operators'], ['staff', 'operator']]) {
      provider.person = person({ groups, role: 'operator' });
      expect((await me((await signIn()).browser)).role).not.toBe('operator');
    }
    provider.person = person({ groups: ['ops'] });
    expect(await me((await signIn()).browser)).toMatchObject({ role: 'operator' });
  });

  test('lowers the role at the next sign-in after a group was removed, for older sessions too', async () => {
    const sub = `u-${newId()}`;
    provider.person = person({ sub, groups: ['admins'] });
    const before = (await signIn()).browser;
    expect(await me(before)).toMatchObject({ role: 'admin' });
    provider.person = person({ sub, groups: ['staff'] });
    const after = (await signIn()).browser;
    expect(await me(after)).toMatchObject({ role: 'member' });
    expect(await me(before)).toMatchObject({ role: 'member' });
  });

  test('is refused without a group that has a role, and ends the sessions that were left', async () => {
    const sub = `u-${newId()}`;
    provider.person = person({ sub, groups: ['admins'] });
    const before = (await signIn()).browser;
    provider.person = person({ sub, groups: ['visitors'] });
    expect((await signIn()).end).toBe('/login?refused=oidc_role_missing&to=%2Fuploads%3Fstatus%3Dfailed');
    expect(await me(before)).toMatchObject({ code: 'invalid_session' });
  });

  test('keeps a disabled user out', async () => {
    provider.person = person({ groups: ['admins'] });
    await signIn();
    const path = `/api/users/${provider.person.sub}`;
    const headers = await server.bearer({ tenantId });
    await server.app.inject({ method: 'PATCH', url: path, headers, payload: { disabled: true } });
    expect((await signIn()).end).toContain('/login?refused=user_disabled');
  });

  test('puts people into the tenant of the claim where the settings say so', async () => {
    const org = `t-${newId()}`;
    provider.person = person({ org });
    expect(await me((await signIn(byClaim)).browser, byClaim)).toMatchObject({ tenant_id: org });
    provider.person = person();
    expect((await signIn(byClaim)).end).toContain('refused=oidc_claims_unusable');
  });

  test('never becomes the operator of the installation or an API key by the name at the provider', async () => {
    for (const sub of ['operator', `api_key:${newId()}`]) {
      provider.person = person({ sub, groups: ['ops'] });
      expect((await signIn()).end).toContain('refused=oidc_claims_unusable');
    }
  });

  test('leads nowhere else than to this server', async () => {
    provider.person = person();
    for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example', `/${'x'.repeat(1_900)}`]) {
      expect((await signIn(server, to)).end).toBe('/');
    }
  });
});

describe('a response of the provider is refused', () => {
  test('with another state', async () => {
    provider.person = person();
    const { browser, callback } = await untilCallback();
    callback.searchParams.set('state', 'another');
    expect(await refusalOf(browser, callback)).toBe('oidc_sign_in_expired');
  });

  test('in a browser that did not start the sign-in', async () => {
    provider.person = person();
    const { callback } = await untilCallback();
    expect(await refusalOf(new Browser(), callback)).toBe('oidc_sign_in_expired');
  });

  test('the second time, also when the cookie of the first time is sent again', async () => {
    provider.person = person();
    const { browser, callback } = await untilCallback();
    const copy = browser.copy();
    expect((await browser.get(callback.href)).status).toBe(303);
    expect(await refusalOf(browser, callback)).toBe('oidc_sign_in_expired');
    expect(await refusalOf(copy, callback)).toBe('oidc_provider_refused');
  });

  test('when its cookie was changed', async () => {
    provider.person = person();
    const { browser, callback } = await untilCallback();
    browser.change('sluice_sign_in', (value) => `${value.slice(0, -4)}AAAA`);
    expect(await refusalOf(browser, callback)).toBe('oidc_sign_in_expired');
  });

  test('when it names another issuer', async () => {
    provider.person = person();
    const { browser, callback } = await untilCallback();
    callback.searchParams.set('iss', 'https://other.example');
    expect(await refusalOf(browser, callback)).toBe('oidc_response_invalid');
  });

  test.each([
    ['another issuer', { iss: 'https://other.example' }],
    ['another audience', { aud: 'another-client' }],
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['an end in the past', { exp: Math.floor(Date.now() / 1000) - 60 }],
  ])('with an ID token of %s', async (_what, change) => {
    provider.person = person();
    provider.forge = { change: (claims) => ({ ...claims, ...change }) };
    const { browser, callback } = await untilCallback();
    expect(await refusalOf(browser, callback)).toBe('oidc_response_invalid');
    expect(await me(browser)).toMatchObject({ code: 'unauthenticated' });
  });

  test('with an ID token that somebody else signed', async () => {
    provider.person = person();
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    provider.forge = { change: (claims) => claims, key: privateKey };
    const { browser, callback } = await untilCallback();
    expect(await refusalOf(browser, callback)).toBe('oidc_response_invalid');
  });

  test('when the person declined', async () => {
    provider.person = null;
    const { end } = await signIn();
    expect(end).toContain('/login?refused=oidc_provider_refused');
  });
});

describe('a provider that is down', () => {
  test('is reported by a code, to programs and to people, and is asked again when it is back', async () => {
    provider.person = person();
    const { browser, callback } = await untilCallback();
    await provider.down();
    try {
      expect(await refusalOf(browser.copy(), callback)).toBe('oidc_provider_unavailable');
      const end = await browser.follow(callback.href);
      expect(end).toContain('/login?refused=oidc_provider_unavailable');
    } finally {
      await provider.up();
    }
    expect((await signIn()).end).toBe('/uploads?status=failed');
  });

  test('is reported before it was ever reached', async () => {
    const settings = { issuer: 'http://127.0.0.1:2', clientId: 'sluice', clientSecret: null };
    const down = createOidcProvider({ ...settings, scopes: 'openid', groupsClaim: 'groups' }, systemClock);
    await expect(down.begin('http://localhost/login/oidc/callback')).rejects.toMatchObject({
      code: 'oidc_provider_unavailable',
    });
  });

  test('is not looked for by a server without one', async () => {
    const reply = await withoutProvider.app.inject({ url: '/login/oidc' });
    expect(reply.json()).toMatchObject({ status: 404, code: 'oidc_not_configured' });
  });
});

describe('the login page', () => {
  test('is told the name of the provider, where there is one', async () => {
    const ways = async (at: typeof server) => (await at.app.inject({ url: '/login/ways' })).json();
    expect(await ways(withoutProvider)).toEqual({ oidc: null });
    expect(await ways(server)).toEqual({ oidc: { name: 'Example', url: '/login/oidc' } });
  });
});

async function refusalOf(browser: Browser, url: URL): Promise<unknown> {
  const reply = await browser.get(url.href, { accept: 'application/json' });
  const text = await reply.text();
  expect(reply.headers.getSetCookie().some((cookie) => cookie.startsWith('sluice_session='))).toBe(false);
  return (JSON.parse(text || '{}') as Record<string, unknown>).code;
}

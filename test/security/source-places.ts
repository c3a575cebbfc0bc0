import { newId } from '../../src/lib/ids.ts';
import type { TestClaims } from '../support/servers/server.ts';
import type { Place, Sent, Turn } from './each-string.ts';

interface Means {
  made(claims: TestClaims, path: string, body: unknown): Promise<Record<string, unknown>>;
  newWorkspace(claims: TestClaims & { tenantId: string }): Promise<string>;
}

const secret = 'names of secrets are read back in the tests of adapters';
const word = 'a word of a list';
const address = 'most strings are no addresses';

/** The texts of each kind of place, and why they are not read back here. */
const textsOfPlaces: Record<string, Record<string, string>> = {
  url: { kind: word, url: address },
  none: { 'auth/type': word },
  bearer: { 'auth/type': word, 'auth/secret': secret },
  basic: { 'auth/type': word, 'auth/user': 'part of a place', 'auth/password_secret': secret },
  header: { 'auth/type': word, 'auth/name': 'a name of a header', 'auth/secret': secret },
  s3: {
    ...{
      kind: word,
      endpoint: address,
      region: word,
      bucket: word,
      prefix: 'read back in the tests of adapters',
    },
    ...{ access_key_id_secret: secret, secret_access_key_secret: secret, pattern: 'as for adapters' },
  },
  ftp: {
    ...{
      kind: word,
      host: address,
      path: 'as for adapters',
      user: 'as for adapters',
      password_secret: secret,
    },
    ...{ ca_certificate: 'as for adapters', pattern: 'as for adapters' },
  },
  meta: {
    ...{ kind: word, account_id: 'digits', access_token_secret: secret, app_secret_secret: secret },
    ...{ level: word, api_version: word, endpoint: address },
  },
  google: {
    ...{ kind: word, customer_id: 'digits', login_customer_id: 'digits', client_id: 'an id of Google' },
    ...{ client_secret_secret: secret, refresh_token_secret: secret, developer_token_secret: secret },
    ...{ level: word, api_version: word, endpoint: address, token_endpoint: address },
  },
  tiktok: {
    ...{ kind: word, advertiser_id: 'digits', access_token_secret: secret },
    ...{ level: word, api_version: word, endpoint: address },
  },
};

/** Where the texts of sources of uploads can be found again. */
export function sourcePlaces({ made, newWorkspace }: Means): Record<string, Place> {
  const create = 'POST /api/uploads/sources';
  const change = 'PATCH /api/uploads/sources/:source_id';
  const pull = 'POST /api/uploads/sources/:source_id/pull';
  const existing = async ({ claims }: Turn) => {
    const place = { kind: 'url', url: 'https://example.com/a.csv' };
    const workspaceId = await newWorkspace(claims);
    const body = { name: newId(), workspace_id: workspaceId, platform: 'meta', place };
    const { source_id: id } = await made(claims, '/api/uploads/sources', body);
    return { source_id: String(id) };
  };
  const other = (why: string): Place => ({ back: null, why, isAlike: true });
  const both = (route: string, more: Partial<Place>): Record<string, Place> => ({
    [`${route} /name`]: { back: async ({ told }: Sent) => told.body.name, isAlike: true, ...more },
    [`${route} /cron`]: { ...other(word), ...more },
    [`${route} /time_zone`]: { ...other(word), ...more },
    [`${route} /client_id`]: { ...other('a UUID'), ...more },
    ...Object.fromEntries(
      Object.entries(textsOfPlaces).flatMap(([kind, texts]) =>
        Object.entries(texts).map(([name, why]) => [
          `${route} /place/${name} of ${kind}`,
          { ...other(why), ...more },
        ]),
      ),
    ),
  });
  return {
    ...both(create, { why: 'the smallest body names no workspace that there is' }),
    [`${create} /workspace_id`]: other('has to be a workspace that there is'),
    [`${create} /platform`]: other(word),
    ...both(change, { params: existing }),
    [`${pull} /date_from`]: { ...other('a day'), params: existing },
    [`${pull} /date_to`]: { ...other('a day'), params: existing },
  };
}

/** The request that creates a source whose every text is this one. */
export function sourceOf(name: string, workspaceId: string | undefined) {
  const place = { kind: 'url', url: `https://${name}.example.com/report.csv` };
  return { path: '/api/uploads/sources', body: { name, workspace_id: workspaceId, platform: 'meta', place } };
}

import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { parseSecretKeys } from '../../src/kernel/secrets/stored-secrets.ts';
import { TenantSecrets } from '../../src/kernel/secrets/tenant-secrets.ts';
import { newId } from '../../src/lib/ids.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { uploadForm } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { adapterPlaces } from './adapter-places.ts';
import { catalogPlaces } from './catalog-places.ts';
import { correctionPlaces } from './correction-places.ts';
import {
  allStrings,
  eachString,
  isRefusal,
  type Place,
  putAt,
  type Sent,
  shown,
  someStrings,
  type Turn,
  unstorable,
} from './each-string.ts';
import { itemPlaces } from './item-places.ts';
import { knowledgePlaces } from './knowledge-places.ts';
import { ownPlaces } from './own-places.ts';
import { peoplePlaces } from './people-places.ts';
import { platformPlaces } from './platform-places.ts';
import { type Told, useProduct } from './product.ts';
import { exampleOf, readRoutes, type TextPlace, textPlaces } from './request-schemas.ts';
import { scrapePlaces } from './scrape-places.ts';
import { sourcePlaces } from './source-places.ts';
import { Tally } from './tally.ts';
import { webhookPlaces } from './webhook-places.ts';

// Every naughty string in every text of every body: it comes back as it was, or it is refused with a code. All of this
// is in `npm run chaos`. `npm test` puts a fifth of the strings into each text, in turn, so that every string is in at
// least 20 texts and every text meets forty of them and whatever cannot be stored.
const isFull = process.env.SLUICE_CHAOS === 'full';
const secretKey = 'ab'.repeat(32);
const database = useDatabase();
/** Airbyte is configured, but nothing listens there. */
const airbyte = { AIRBYTE_BASE_URL: 'http://127.0.0.1:1/v1', AIRBYTE_API_TOKEN: 'a-token-of-the-tests' };
const product = useProduct(database, (directory) => ({
  SLUICE_SECRET_KEY: secretKey,
  ...airbyte,
  AIRBYTE_WORKSPACE_ID: 'one',
  KNOWLEDGE_FOLDER_ROOT: directory,
  KNOWLEDGE_MAX_BASES: '100000',
  KNOWLEDGE_MAX_SOURCES: '10000',
  WEBHOOK_MAX_ENDPOINTS: '100000',
  ADAPTER_FOLDER: directory,
  ADAPTER_MAX_COUNT: '10000',
  UPLOAD_SOURCE_MAX_COUNT: '10000',
}));
const tally = new Tally('naughty strings in bodies', allStrings.length * 20);

/** A few shared connections: they are used thousands of times. */
const owner = new pg.Pool({ connectionString: database.ownerUrl, max: 4 });

afterAll(() => owner.end());

async function firstRow(statement: string, id: unknown): Promise<Record<string, unknown>> {
  const { rows } = await owner.query<Record<string, unknown>>(statement, [id]);
  return rows[0] ?? {};
}

type Claims = TestClaims & { tenantId: string };

const notKept = (why: string): Place => ({ back: null, why });
const word = notKept('a word of a list');
const tenant = async () => ({ tenant_id: await newTenantOver() });
const held = async ({ claims }: Turn) => ({ upload_id: await heldUpload(claims) });
const aSecret = { value: 'a secret', hosts: ['api.example.com'] };
const aServer = {
  base_url: 'https://airbyte.example.com/v1',
  auth: 'client',
  identity: 'one',
  secret: 'a_secret',
};
const newServer = async ({ at }: Turn) => ({ server: `naughty_${at}` });
const newSecret = async ({ at }: Turn) => ({ name: `naughty_${at}` });

/** Each text of each body, and where to read it back. A new one must be added here, or the suite fails. */
const places: Record<string, Place> = {
  'POST /api/tenants /tenant_id': { back: ({ told }) => tenantField(told.body.tenant_id, 'tenant_id') },
  'POST /api/tenants /name': { back: ({ told }) => tenantField(told.body.tenant_id, 'name') },
  'POST /api/tenants /plan': word,
  'PATCH /api/tenants/:tenant_id /name': {
    back: ({ params }) => tenantField(params.tenant_id, 'name'),
    params: tenant,
  },
  'PATCH /api/tenants/:tenant_id /plan': { ...word, params: tenant },
  'POST /api/workspaces /name': { back: ({ told }) => workspaceName(told.body.workspace_id) },
  'PATCH /api/workspaces/:workspace_id /name': {
    back: ({ params }) => workspaceName(params.workspace_id),
    params: async ({ claims }) => ({ workspace_id: await newWorkspace(claims) }),
  },
  'POST /api/api-keys /name': { back: ({ told, claims }) => keyName(claims, told.body.key_id) },
  'POST /api/api-keys /role': word,
  'POST /api/api-keys /expires_at': notKept('a moment, of which only the moment is kept'),
  'POST /api/dead-letters/:job_id/requeue /correlation_id': {
    back: ({ told }) => correlationOf(told.body.job_id ?? told.body.jobId),
    params: async ({ claims }) => ({ job_id: await deadLetter(claims) }),
  },
  'POST /api/dead-letters/requeue /error_code': notKept('a filter'),
  'POST /api/dead-letters/requeue /pipeline': notKept('a filter'),
  'POST /api/jobs/:job_id/reprocess /scope': word,
  'POST /api/jobs/:job_id/reprocess /itemIds/0': notKept('numbers of items'),
  'POST /api/jobs/:job_id/reprocess /errorCode': notKept('a filter'),
  'POST /api/jobs/:job_id/reprocess /statuses/0': word,
  ...itemPlaces({ product, made, firstRow }),
  'PUT /api/uploads/mappings /platform': word,
  'PUT /api/uploads/mappings /mapping/*': { back: savedHeader },
  'PUT /api/uploads/mappings /mapping/*=': word,
  'POST /api/uploads/:upload_id/promote /mapping/*': {
    ...notKept('names a column of the file'),
    params: held,
  },
  'POST /api/uploads/:upload_id/promote /mapping/*=': { ...word, params: held },
  'POST /api/uploads/:upload_id/promote /date_from': { ...word, params: held },
  'POST /api/uploads/:upload_id/promote /date_to': { ...word, params: held },
  'PUT /api/uploads/:upload_id/mapping /date_from': { ...word, params: held },
  'PUT /api/uploads/:upload_id/mapping /date_to': { ...word, params: held },
  'PUT /api/uploads/:upload_id/mapping /mapping/*': {
    ...notKept('names a column of the file'),
    params: held,
    isAlike: true,
  },
  'PUT /api/uploads/:upload_id/mapping /mapping/*=': { ...word, params: held, isAlike: true },
  ...catalogPlaces({ product }),
  ...platformPlaces(),
  ...connectorPlaces('POST /api/connectors', ''),
  ...connectorPlaces('POST /api/connectors/import', '/connections/0'),
  'POST /api/connectors/import /connections/0/tenant_id': notKept('has to be a tenant that there is'),
  'PATCH /api/connectors/:connector_id /name': changed('name'),
  'PATCH /api/connectors/:connector_id /external_account_id': changed('external_account_id'),
  'PATCH /api/connectors/:connector_id /on_active_sync': { ...word, params: newConnector },
  'PATCH /api/connectors/:connector_id /cron': { ...word, params: newConnector },
  'PATCH /api/connectors/:connector_id /time_zone': { ...word, params: newConnector },
  'POST /api/connectors /airbyte_server': notKept('has to be a server that there is'),
  'PUT /api/airbyte-servers/:server /auth': { ...word, params: newServer },
  'PUT /api/airbyte-servers/:server /base_url': notKept('has to be an address'),
  'PUT /api/airbyte-servers/:server /identity': {
    params: newServer,
    base: aServer,
    back: ({ told }) => Promise.resolve(told.body.identity),
  },
  'PUT /api/airbyte-servers/:server /secret': {
    params: newServer,
    base: aServer,
    back: ({ told }) => Promise.resolve(told.body.secret),
  },
  'PUT /api/airbyte-servers/:server /workspace_id': {
    params: newServer,
    base: aServer,
    back: ({ told }) => Promise.resolve(told.body.workspace_id),
  },
  'POST /api/connectors/preview /cron': word,
  'POST /api/connectors/preview /time_zone': word,
  'POST /api/connectors/:connector_id/sync /correlation_id': {
    back: ({ told }) => correlationOf(told.body.job_id),
    params: newConnector,
  },
  ...knowledgePlaces({ made, firstRow }),
  ...scrapePlaces({ product, firstRow }),
  ...webhookPlaces({ made, firstRow }),
  ...peoplePlaces({ firstRow }),
  ...correctionPlaces({ made, firstRow, newWorkspace }),
  ...adapterPlaces({ firstRow }),
  ...ownPlaces,
  ...sourcePlaces({ made, newWorkspace }),
  'POST /api/session /token': notKept('a credential'),
  'PUT /api/secrets/:name /value': {
    back: ({ params, claims }) => secretValue(claims, params.name ?? ''),
    params: newSecret,
    base: aSecret,
  },
  'PUT /api/secrets/:name /hosts/0': {
    ...notKept('is kept in the spelling of DNS'),
    params: newSecret,
    base: aSecret,
  },
  'PUT /api/secrets/:name /roles/0': { ...word, params: newSecret, base: aSecret },
  'PUT /api/secrets/:name /uses/0': { ...word, params: newSecret, base: aSecret },
  'PATCH /api/secrets/:name /roles/0': { ...word, params: newSecret },
  'PATCH /api/secrets/:name /uses/0': { ...word, params: newSecret },
};

/** The same fields, whether a tenant enrols one connection or the operator several. */
function connectorPlaces(route: string, prefix: string): Record<string, Place> {
  const kept = ['connector_id', 'name', 'external_account_id'];
  const made = ({ told }: Sent): Record<string, unknown> =>
    prefix === '' ? told.body : ((told.body.imported as Record<string, unknown>[])[0] ?? refusedOf(told));
  // What another route has made of the same string would stand in the way.
  const params = async ({ text }: Turn) => {
    const isStorable = !unstorable.includes(text);
    const statement = 'delete from connectors where connector_id = $1';
    if (isStorable) await firstRow(statement, text);
    return {};
  };
  return Object.fromEntries([
    ...kept.map((name) => [
      `${route} ${prefix}/${name}`,
      { params, back: async (sent: Sent) => madeField(made(sent), name) },
    ]),
    [`${route} ${prefix}/airbyte_connection_id`, word],
    [`${route} ${prefix}/cron`, word],
    [`${route} ${prefix}/time_zone`, word],
    [`${route} ${prefix}/on_active_sync`, word],
  ]);
}

/** The codes of an import say which connections were refused. */
const refusedOf = ({ body }: Told) => ({ refused: (body.refused as { code: string }[])[0]?.code });

async function madeField(made: Record<string, unknown>, name: string): Promise<unknown> {
  if ('refused' in made) return made;
  const statement = `select to_jsonb(c) ->> '${name}' as value from connectors c where connector_id = $1`;
  return (await firstRow(statement, made.connector_id)).value;
}

function changed(name: string): Place {
  return {
    back: ({ params }) => madeField({ connector_id: params.connector_id }, name),
    params: newConnector,
  };
}

async function newConnector({ claims }: Turn): Promise<Record<string, string>> {
  const account = { airbyte_connection_id: newId(), external_account_id: newId() };
  const { connector_id: connectorId } = await made(claims, '/api/connectors', { name: 'One', ...account });
  return { connector_id: String(connectorId) };
}

function pointerOf({ path, isKey, shape }: TextPlace): string {
  const parts = path.map((part) => `/${part}`).join('');
  if (isKey) return `${parts}/*`;
  return `${parts}${path.at(-1) === '*' ? '=' : ''}${shape ? ` of ${shape.name}` : ''}`;
}

const texts = (await readRoutes())
  .flatMap((route) =>
    textPlaces(route.body ?? {}).map((place) => ({
      ...route,
      place,
      name: `${route.method} ${route.url} ${pointerOf(place)}`,
    })),
  )
  // What several shapes of a body have in common is one place.
  .filter(({ name }, at, all) => all.findIndex((one) => one.name === name) === at);

describe('every text of every body', () => {
  test('is listed here, with the place where it can be read back', () => {
    expect(texts.map(({ name }) => name).sort()).toEqual(Object.keys(places).sort());
  });

  test.each(texts)('$name', { timeout: 180_000 }, async ({ name, method, url, body, place }) => {
    const known = places[name];
    if (!known) throw new Error(`${name} has no place in the list above`);
    let kept = 0;
    const problems: string[] = [];
    const work = async (turn: Turn) => {
      const params = (await known.params?.(turn)) ?? {};
      const path = url.replaceAll(/:(\w+)/g, (_, param) => encodeURIComponent(params[param] ?? newId()));
      const sent = put(known.base ?? example(body ?? {}, turn.claims), place, turn.text);
      const told = await product.ask(turn.claims, { method, path, body: sent });
      const back = told.status < 300 ? await known.back?.({ ...turn, told, params }) : undefined;
      if (told.status < 300 && known.back) kept += 1;
      const isFine = told.status < 300 ? !known.back || back === turn.text : isRefusal(told);
      if (!isFine)
        problems.push(
          `${shown(turn.text)}: ${told.status} ${told.text.slice(0, 300)}, back ${shown(String(back))}`,
        );
      tally.count();
    };
    const position = texts.findIndex((one) => one.name === name);
    const strings = isFull && !known.isAlike ? allStrings : someStrings(position);
    await eachString(database, work, strings);
    expect(problems.slice(0, 10)).toEqual([]);
    // A field that refuses everything, or a test that never gets as far as the field, would show nothing.
    if (known.back && !known.why) expect(kept).toBeGreaterThan(strings.length / 2);
  });
});

/** Names that may be there once only are new each time, and a tenant that is named exists. */
function example(body: Parameters<typeof exampleOf>[0], { tenantId }: Claims): Record<string, unknown> {
  const made = { ...(exampleOf(body) as Record<string, unknown> | null) };
  if ('tenant_id' in made) made.tenant_id = newId();
  if ('airbyte_connection_id' in made) made.airbyte_connection_id = newId();
  if (Array.isArray(made.connections)) {
    made.connections = [{ ...made.connections[0], airbyte_connection_id: newId(), tenant_id: tenantId }];
  }
  return made;
}

/** The body with the text at its place; `*` stands for a field of any name. */
function put(into: unknown, { path, isKey, shape }: TextPlace, text: string): unknown {
  const shaped = shape ? putAt(into, shape.path, shape.example) : into;
  return putAt(shaped, path, isKey ? { [text]: null } : text);
}

async function newTenantOver(): Promise<string> {
  const tenantId = `tenant-${newId()}`;
  await made({ tenantId: 'the-operators', role: 'operator' }, '/api/tenants', { tenant_id: tenantId });
  return tenantId;
}

async function tenantField(tenantId: unknown, field: string): Promise<unknown> {
  const path = `/api/tenants/${encodeURIComponent(String(tenantId))}`;
  return (await product.ask({ tenantId: 'the-operators', role: 'operator' }, { path })).body[field];
}

async function newWorkspace(claims: Claims): Promise<string> {
  return String((await made(claims, '/api/workspaces', { name: newId() })).workspace_id);
}

async function workspaceName(workspaceId: unknown): Promise<unknown> {
  return (await firstRow('select name from workspaces where workspace_id = $1', workspaceId)).name;
}

async function keyName(claims: Claims, keyId: unknown): Promise<unknown> {
  // Newest last or first: the page is large enough for all of a lane.
  const { body } = await product.ask(claims, { path: '/api/api-keys?limit=200' });
  return (body.data as { key_id: string; name: string }[]).find(({ key_id: id }) => id === keyId)?.name;
}

async function savedHeader({ claims, text }: Sent): Promise<unknown> {
  const { body } = await product.ask(claims, { path: '/api/uploads/mappings' });
  const saved = (body.data as { mapping: Record<string, unknown> }[]).flatMap(({ mapping }) =>
    Object.keys(mapping),
  );
  return saved.length === 1 ? saved[0] : `${saved.length} headers, ${saved.includes(text)}`;
}

async function secretValue({ tenantId }: Claims, name: string): Promise<unknown> {
  const secrets = new TenantSecrets({ db: database.db, keys: parseSecretKeys(secretKey) });
  return (await secrets.lend({ tenantId, role: 'admin', use: 'processor:http' }, name)).value;
}

async function deadLetter(claims: Claims): Promise<string> {
  const form = new FormData();
  form.set('file', new Blob(['a\n1\n']), 'a.csv');
  const { jobId } = await made(claims, '/api/jobs', form);
  await firstRow(
    `update ingestion_jobs set status = 'dead_letter', finished_at = now(), error_code = 'x' where job_id = $1`,
    jobId,
  );
  return String(jobId);
}

async function correlationOf(jobId: unknown): Promise<unknown> {
  return (await firstRow('select correlation_id as id from ingestion_jobs where job_id = $1', jobId)).id;
}

const heldUploads = new Map<string, Promise<string>>();

/** One upload of a lane, held until it is promoted. */
function heldUpload(claims: Claims): Promise<string> {
  const known = heldUploads.get(claims.tenantId);
  if (known) return known;
  const making = makeHeldUpload(claims);
  heldUploads.set(claims.tenantId, making);
  return making;
}

async function makeHeldUpload(claims: Claims): Promise<string> {
  const fields = { workspace_id: await newWorkspace(claims), review: 'true' };
  const form = uploadForm('Campaign ID,Day,Clicks,A column\n1,2026-03-01,7,2\n', fields);
  const { upload_id: uploadId } = await made(claims, '/api/uploads', form);
  const { body } = await product.ask(claims, { path: `/api/uploads/${uploadId}` });
  await made(claims, `/api/jobs/${body.job_id}/kickoff?durationMs=60000`, undefined);
  return String(uploadId);
}

async function made(claims: TestClaims, path: string, body: unknown): Promise<Record<string, unknown>> {
  const told = await product.ask(claims, { method: 'POST', path, body });
  if (told.status < 300) return told.body;
  throw new Error(`POST ${path} was answered with ${told.status}: ${told.text}`);
}

test(`all ${allStrings.length} strings were tried in at least 20 places`, () => {
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
});

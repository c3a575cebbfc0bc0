import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFiles } from '../../src/kernel/files/backends.ts';
import { type Bomb, fileBombs, requestBombs } from '../generators/bombs.ts';
import { climbingKeys, hostileUrls } from '../generators/hostile-addresses.ts';
import { imageArchiveBombs } from '../generators/image-bombs.ts';
import { badImages, picture } from '../generators/images.ts';
import { formBytes, formType, sendBody } from '../generators/multipart-body.ts';
import { serveSite } from '../support/fakes/local-site.ts';
import { growthDuring } from '../support/probes/held-memory.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { isRefusal } from './each-string.ts';
import { answerTo, useProduct } from './product.ts';

// URLs that lead inside, files that explode and names that climb, sent to the product: none gets through.
const database = useDatabase();
const inboxOf = (directory: string) => path.join(directory, 'inbox');
const product = useProduct(database, (directory) => ({ INGEST_FOLDER: inboxOf(directory) }));
const claims = { tenantId: 'the-hostile', role: 'operator' } as const;
const loot = 'loot-4711';
let workspaceId = '';

beforeAll(async () => {
  const inbox = path.join(inboxOf(product.directory), claims.tenantId);
  mkdirSync(path.join(inbox, 'within'), { recursive: true });
  // Outside of the folder, and outside of the tenant's own.
  for (const place of [product.directory, inboxOf(product.directory)]) {
    writeFileSync(path.join(place, 'loot.csv'), `Day,name\n2026-03-01,${loot}\n`);
  }
  writeFileSync(path.join(inbox, 'fine.csv'), 'Day,name\n2026-03-01,fine\n');
  symlinkSync('../loot.csv', path.join(inbox, 'linked.csv'));
  symlinkSync('..', path.join(inbox, 'links'));
  const told = await product.ask(claims, { path: '/api/workspaces' });
  workspaceId = (told.body.data as { workspace_id: string }[])[0]?.workspace_id ?? '';
});

describe('a URL to a private address', () => {
  test('is refused in every spelling by tenants’ jobs, and never called', {
    timeout: 180_000,
  }, async () => {
    const site = await serveSite('::', (_request, response) => response.end('{"leak":true}'));
    const urls = hostileUrls(site.port);
    console.log(`${urls.length} URLs, at least 60 are due`);
    expect(urls.length).toBeGreaterThanOrEqual(60);
    const made = new Map<string, string>();
    for (const { url, what } of urls) {
      const form = new FormData();
      form.set('processor', 'http');
      form.set('options', JSON.stringify({ request: { url } }));
      form.set('file', new Blob(['a\n1\n']), 'a.csv');
      const told = await product.ask(claims, { method: 'POST', path: '/api/jobs', body: form });
      if (told.status === 201) made.set(String(told.body.jobId), what);
      else expect({ what, isRefused: isRefusal(told) }).toEqual({ what, isRefused: true });
    }
    const isOver = async () => {
      await product.ask(claims, { method: 'POST', path: '/api/worker/cycle?budget_seconds=30' });
      const open = await database.owner(
        `select from job_items where job_id = any($1) and status in ('PENDING', 'PROCESSING')`,
        [[...made.keys()]],
      );
      return open.length === 0;
    };
    await eventually(isOver, 'every row has ended', 120_000);
    const items = await database.owner<{ job: string; status: string; code: string }>(
      'select job_id as job, status, error_code as code from job_items where job_id = any($1)',
      [[...made.keys()]],
    );
    const ends = items.map(({ job, status, code }) => ({ what: made.get(job), status, code }));
    expect(ends.length).toBe(made.size);
    const through = ends.filter(
      ({ status, code }) => status !== 'ERROR' || !/blocked|invalid|refused/.test(code),
    );
    expect(through).toEqual([]);
    expect(site.connections).toBe(0);
  });
});

function bytesOf(bomb: Bomb, where: '/api/jobs' | '/api/uploads'): Iterable<Uint8Array> {
  if (bomb.isRequest) return bomb.content();
  const fields = { workspace_id: workspaceId, platform: 'meta', source: 'manual' };
  const parts = Object.entries(where === '/api/uploads' ? fields : {}).map(([name, content]) => ({
    name,
    content,
  }));
  return formBytes([...parts, { name: 'file', fileName: 'rows.csv', content: bomb.content() }]);
}

const mostBytes = 200 * 1024 * 1024;

const memoryOf = (work: () => Promise<void>) => growthDuring(work, { mostBytes });

describe('a bomb', () => {
  const bombs = [...fileBombs, ...requestBombs];

  test('has at least 20 kinds', () => {
    console.log(`${bombs.length} bombs, at least 20 are due`);
    expect(bombs.length).toBeGreaterThanOrEqual(20);
  });

  test.each(bombs)('($what) is refused as rows, using little memory', { timeout: 180_000 }, async (bomb) => {
    const before = await kept();
    const grown = await memoryOf(async () => {
      const headers = { 'content-type': formType, ...(await product.bearer(claims)), ...bomb.headers };
      const url = `${product.url}${bomb.path ?? '/api/jobs'}`;
      const answer = await sendBody(url, { headers, body: bytesOf(bomb, '/api/jobs') });
      expect(isRefusal(answer), JSON.stringify(answer.body)).toBe(true);
    });
    expect(grown).toBeLessThan(mostBytes);
    expect(await kept()).toEqual(before);
  });

  test.each(fileBombs)(
    '($what) ends as a failed report, using little memory',
    { timeout: 180_000 },
    async (bomb) => {
      const grown = await memoryOf(async () => {
        const headers = { 'content-type': formType, ...(await product.bearer(claims)) };
        const answer = await sendBody(`${product.url}/api/uploads`, {
          headers,
          body: bytesOf(bomb, '/api/uploads'),
        });
        if (isRefusal(answer)) return;
        expect(answer.status).toBe(201);
        const place = `/api/uploads/${answer.body.upload_id}`;
        const { body } = await product.ask(claims, { path: place });
        await product.ask(claims, {
          method: 'POST',
          path: `/api/jobs/${body.job_id}/kickoff?durationMs=60000`,
        });
        const after = await product.ask(claims, { path: place });
        expect(after.body).toMatchObject({
          status: 'failed',
          error_code: expect.stringMatching(/^[a-z_]+$/),
        });
        expect(after.body).toMatchObject({ promoted_rows: 0 });
      });
      expect(grown).toBeLessThan(mostBytes);
    },
  );
});

describe('a bomb of images', () => {
  test.each(imageArchiveBombs)(
    '($what) is refused, using little memory',
    { timeout: 180_000 },
    async (bomb) => {
      const before = await kept();
      const file = { name: 'file', fileName: 'all.zip', content: bomb.content() };
      const grown = await memoryOf(async () => {
        const headers = { 'content-type': formType, ...(await product.bearer(claims)) };
        const answer = await sendBody(`${product.url}/api/jobs`, { headers, body: formBytes([file]) });
        expect(isRefusal(answer), JSON.stringify(answer.body)).toBe(true);
      });
      expect(grown).toBeLessThan(mostBytes);
      expect(await kept()).toEqual(before);
    },
  );

  test('ends as an error of its item, using little memory, and a good image beside it succeeds', {
    timeout: 180_000,
  }, async () => {
    const form = new FormData();
    for (const { name, bytes } of badImages) form.append('file', blobOf(await bytes()), name);
    form.append('file', blobOf(await picture().png().toBuffer()), 'good.png');
    const grown = await memoryOf(async () => {
      const told = await product.ask(claims, { method: 'POST', path: '/api/jobs', body: form });
      expect(told.status, told.text).toBe(201);
      const place = `/api/jobs/${told.body.jobId}`;
      await product.ask(claims, { method: 'POST', path: `${place}/kickoff?durationMs=60000` });
      const { body } = await product.ask(claims, { path: `${place}/items?pageSize=100` });
      const items = body.data as { errorCode: string | null; status: string }[];
      expect(items.map(({ errorCode }) => errorCode)).toEqual([...badImages.map(({ code }) => code), null]);
      expect(items.at(-1)?.status).toBe('DONE');
    });
    expect(grown).toBeLessThan(mostBytes);
  });
});

function blobOf(bytes: Buffer): Blob {
  return new Blob([new Uint8Array(bytes)], { type: 'image/png' });
}

/** Jobs with rows, and rows: what a refused file must not add to. */
async function kept(): Promise<object | undefined> {
  const [counts] = await database.owner<object>(
    `select (select count(*) from item_jobs where tenant_id = $1) as jobs,
            (select count(*) from job_items where tenant_id = $1) as items,
            (select count(*) from files where tenant_id = $1) as files`,
    [claims.tenantId],
  );
  return counts;
}

describe('a name that climbs out of its folder', () => {
  const keys = () => climbingKeys('loot.csv', path.join(product.directory, 'loot.csv'));
  const lootRows = () =>
    database.owner('select 1 from job_items where input_json::text like $1', [`%${loot}%`]);

  test('has at least 40 kinds', () => {
    console.log(`${keys().length} names, at least 40 are due`);
    expect(new Set(keys()).size).toBeGreaterThanOrEqual(40);
  });

  test('is refused where a file is named by reference, and a name below the folder is accepted', async () => {
    const refer = (key: string, where: string) => {
      const reference = { adapter: 'folder', key };
      const fields = { workspace_id: workspaceId, platform: 'meta', source: 'manual' };
      const body = where === '/api/jobs' ? { fileRef: reference } : { file_ref: reference, ...fields };
      return product.ask(claims, { method: 'POST', path: where, body });
    };
    for (const where of ['/api/jobs', '/api/uploads']) {
      for (const key of keys()) {
        const told = await refer(key, where);
        expect({ where, key, isRefused: isRefusal(told), text: told.text }).toMatchObject({
          isRefused: true,
        });
        expect(told.text).not.toContain(loot);
      }
      expect((await refer('fine.csv', where)).status).toBe(201);
      expect((await refer('within/../fine.csv', where)).status).toBe(201);
    }
    expect(await lootRows()).toEqual([]);
  });

  test('does no harm as the name of a file of rows or of a report', async () => {
    const outside = () => readdirSync(product.directory).sort();
    const before = outside();
    for (const key of keys()) {
      for (const where of ['/api/jobs', '/api/uploads'] as const) {
        const fields = { workspace_id: workspaceId, platform: 'meta', source: 'manual' };
        const form = new FormData();
        if (where === '/api/uploads')
          for (const [name, value] of Object.entries(fields)) form.set(name, value);
        form.set('file', new Blob(['Day,b\n1,2\n']), key);
        const told = await product.ask(claims, { method: 'POST', path: where, body: form });
        expect(told.status === 201 || isRefusal(told), `${key} ${told.status} ${told.text}`).toBe(true);
      }
    }
    expect(outside()).toEqual(before);
    const names = await database.owner<{ name: string }>(
      `select file_name as name from item_jobs where file_name ~ '[/\\\\]'
       union all select filename from data_uploads where filename ~ '[/\\\\]'`,
    );
    expect(names).toEqual([]);
  });

  test('cannot be a storage key', async () => {
    const files = createFiles({ filesBackend: 'local', dataDir: path.join(product.directory, 'files') });
    const refused = { code: 'storage_key_malformed' };
    for (const key of keys()) {
      await expect(async () => files.open(key), key).rejects.toMatchObject(refused);
      await expect(async () => files.remove(key), key).rejects.toMatchObject(refused);
      await expect(async () => files.exists(key), key).rejects.toMatchObject(refused);
    }
  });

  test('cannot be a path of the server', async () => {
    for (const key of keys()) {
      for (const folder of ['/assets/', '/docs/', '/']) {
        const head = [`GET ${folder}${key} HTTP/1.1`, 'Host: localhost', 'Connection: close'];
        const { status, text } = await answerTo(product.url, head);
        expect(text, `${folder}${key}`).not.toMatch(/loot-4711|root:x:0|PATH=/);
        expect(status >= 400 && status < 500, `${folder}${key} ${text.slice(0, 200)}`).toBe(true);
      }
    }
  });
});

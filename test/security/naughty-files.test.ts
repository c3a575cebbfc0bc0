import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { picture } from '../generators/images.ts';
import { type FormPart, formBytes, formType } from '../generators/multipart-body.ts';
import { zipOf } from '../generators/zip-archive.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import type { ImageItem } from '../support/worlds/image-jobs.ts';
import {
  allStrings,
  eachString,
  isRefusal,
  shown,
  someStrings,
  type Turn,
  unstorable,
} from './each-string.ts';
import { type Told, useProduct } from './product.ts';
import { Tally } from './tally.ts';

// Every naughty string as the name of a file, as a cell and as a header, of rows and of reports.
const database = useDatabase();
const product = useProduct(database);
/** A few shared connections: they are used hundreds of times. */
const owner = new pg.Pool({ connectionString: database.ownerUrl, max: 4 });
afterAll(() => owner.end());

const tally = new Tally('naughty strings in files', allStrings.length * 8);

/** The name as an exact one, which any text can be: `filename*` of RFC 5987. */
async function sendFile(
  claims: TestClaims,
  { path, fields = {}, content, fileName = 'rows.csv' }: FileSent,
): Promise<Told> {
  const parts: FormPart[] = Object.entries(fields).map(([name, value]) => ({ name, content: value }));
  const file = { name: 'file', content, fileName: 'NAME' };
  const isName = `filename*=UTF-8''${encodeURIComponent(withoutHalves(fileName))}`;
  const head = Buffer.concat([...formBytes([...parts, file])]).toString();
  const headers = { ...(await product.bearer(claims)), 'content-type': formType };
  const body = head.replace('filename="NAME"', () => isName);
  const answer = await fetch(`${product.url}${path}`, { method: 'POST', headers, body });
  const text = await answer.text();
  return { status: answer.status, text, body: JSON.parse(text), type: '', headers: answer.headers };
}

interface FileSent {
  path: '/api/jobs' | '/api/uploads' | '/api/knowledge/naughty/documents';
  fields?: Record<string, string>;
  content: string;
  fileName?: string;
}

const withoutHalves = (text: string) => text.replaceAll(/\p{Surrogate}/gu, '');

async function expectNothing(
  strings: readonly string[],
  work: (turn: Turn) => Promise<string | null>,
): Promise<void> {
  const problems: string[] = [];
  await eachString(
    database,
    async (turn) => {
      const problem = await work(turn);
      tally.count();
      if (problem !== null) problems.push(`${shown(turn.text)}: ${problem}`);
    },
    strings,
  );
  expect(problems.slice(0, 10)).toEqual([]);
}

/** A name never leads out: folders before it are dropped, and a name of folders only is refused. */
function nameIn(text: string): string | null {
  const last = text.split(/[/\\]/).at(-1) ?? '';
  return ['', '.', '..'].includes(last) ? null : last;
}

const workspaces = new Map<string, string>();

async function reportFields(claims: Turn['claims']): Promise<Record<string, string>> {
  let workspaceId = workspaces.get(claims.tenantId);
  if (workspaceId === undefined) {
    const body = { name: 'For reports' };
    const told = await product.ask(claims, { method: 'POST', path: '/api/workspaces', body });
    workspaceId = String(told.body.workspace_id);
    workspaces.set(claims.tenantId, workspaceId);
  }
  return { workspace_id: workspaceId, platform: 'meta', source: 'manual' };
}

/** Half a pair has no UTF-8, so no file can hold one. */
const wellFormed = allStrings.filter((text) => text === withoutHalves(text));

describe('the name of a file', () => {
  test('the name of a file of rows is kept unchanged or refused', { timeout: 180_000 }, async () => {
    let kept = 0;
    await expectNothing(wellFormed, async ({ text, claims }) => {
      const told = await sendFile(claims, { path: '/api/jobs', content: 'a\n1\n', fileName: text });
      if (told.status !== 201) return isRefusal(told) ? null : `${told.status} ${told.text}`;
      const { body } = await product.ask(claims, { path: `/api/jobs/${told.body.jobId}` });
      kept += 1;
      return body.fileName === nameIn(text) ? null : `became ${shown(String(body.fileName))}`;
    });
    expect(kept).toBeGreaterThan(wellFormed.length / 2);
  });

  test('the file name of a report is kept unchanged or refused', { timeout: 180_000 }, async () => {
    let kept = 0;
    await expectNothing(wellFormed, async ({ text, claims }) => {
      const fields = await reportFields(claims);
      const told = await sendFile(claims, {
        path: '/api/uploads',
        fields,
        content: 'Day\n1\n',
        fileName: text,
      });
      if (told.status !== 201) return isRefusal(told) ? null : `${told.status} ${told.text}`;
      const { body } = await product.ask(claims, { path: `/api/uploads/${told.body.upload_id}` });
      kept += 1;
      return body.filename === nameIn(text) ? null : `became ${shown(String(body.filename))}`;
    });
    expect(kept).toBeGreaterThan(wellFormed.length / 2);
  });

  test('the file name of an image in an archive is kept unchanged or refused', {
    timeout: 180_000,
  }, async () => {
    let kept = 0;
    const image = await picture().png().toBuffer();
    const inArchives = wellFormed.filter((text) => Buffer.byteLength(text) < 60_000);
    await expectNothing(inArchives, async ({ text, claims }) => {
      const body = new FormData();
      // The flag says that names are in UTF-8.
      const bytes = zipOf([{ name: text, content: image, flags: 0x800 }]);
      body.set('file', new Blob([new Uint8Array(bytes)], { type: 'application/zip' }), 'all.zip');
      const told = await product.ask(claims, { method: 'POST', path: '/api/jobs', body });
      if (told.status !== 201) return isRefusal(told) ? null : `${told.status} ${told.text}`;
      const place = `/api/jobs/${told.body.jobId}/items`;
      const [item] = (await product.ask(claims, { path: `${place}?input=true` })).body.data as ImageItem[];
      kept += 1;
      const saved = await fetch(`${product.url}${place}/${item?.id}/image`, {
        headers: await product.bearer(claims),
      });
      if (!Buffer.from(await saved.arrayBuffer()).equals(image)) return `was answered with ${saved.status}`;
      return item?.input.name === text.replaceAll('\\', '/')
        ? null
        : `became ${shown(String(item?.input.name))}`;
    });
    expect(kept).toBeGreaterThan(inArchives.length / 2);
  });

  test('the file name of a document is kept with its folders, unchanged or made safe, or refused', {
    timeout: 180_000,
  }, async () => {
    let kept = 0;
    await expectNothing(wellFormed, async ({ text, claims }) => {
      const body = { kb_id: 'naughty', name: 'Naughty' };
      // The first string of a lane makes it; the others find it there.
      await product.ask(claims, { method: 'POST', path: '/api/knowledge', body });
      const told = await sendFile(claims, {
        path: '/api/knowledge/naughty/documents',
        content: 'A text.',
        fileName: text,
      });
      if (told.status !== 201) return isRefusal(told) ? null : `${told.status} ${told.text}`;
      kept += 1;
      const [file] = told.body.files as { name: string }[];
      const name = file?.name ?? '';
      const isSame = name === text.replaceAll('\\', '/').replace(/^(\.?\/)+/, '');
      const leads = name.startsWith('/') || name.split('/').includes('..');
      return isSame && !leads ? null : `became ${shown(name)}`;
    });
    expect(kept).toBeGreaterThan(wellFormed.length / 2);
  });

  test.each(['filename', 'created_by'])(
    'the name of a file and the text of the form field %s are kept or refused',
    async (name) => {
      await expectNothing(wellFormed, async ({ text, claims }) => {
        const fields = { ...(await reportFields(claims)), [name]: text };
        const told = await sendFile(
          { ...claims, role: 'service', userId: 'a-service' },
          {
            path: '/api/uploads',
            fields,
            content: 'Day\n1\n',
          },
        );
        if (told.status !== 201) return isRefusal(told) ? null : `${told.status} ${told.text}`;
        const { body } = await product.ask(claims, { path: `/api/uploads/${told.body.upload_id}` });
        const usual = { filename: 'rows.csv', created_by: 'a-service' }[name];
        const expected = text === '' ? usual : text;
        return body[name] === expected ? null : `became ${shown(String(body[name]))}`;
      });
    },
  );

  const otherFields = ['workspace_id', 'platform', 'source', 'client_id', 'review', 'mapping'];
  test.each(otherFields)('the name of a file and the form field %s is accepted or refused', async (name) => {
    const some = someStrings(otherFields.indexOf(name)).filter((text) => wellFormed.includes(text));
    await expectNothing(some, async ({ text, claims }) => {
      const fields = { ...(await reportFields(claims)), [name]: text };
      const told = await sendFile(claims, { path: '/api/uploads', fields, content: 'Day\n1\n' });
      return told.status === 201 || isRefusal(told) ? null : `${told.status} ${told.text}`;
    });
  });
});

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;

async function inputsOf(jobId: unknown): Promise<Record<string, unknown>[]> {
  const { rows } = await owner.query<{ input: string }>(
    'select input_json::text as input from job_items where job_id = $1 order by row_no',
    [jobId],
  );
  return rows.map(({ input }) => JSON.parse(input));
}

describe('rows', () => {
  const claims = { tenantId: 'the-rows', role: 'admin' } as const;
  const cells = allStrings.filter((text) => !unstorable.includes(text));

  test.each(['CSV', 'JSON'])('in %s keep every cell unchanged', async (format) => {
    const content =
      format === 'CSV'
        ? `n,text\n${cells.map((cell, at) => `${at},${quoted(cell)}`).join('\n')}\n`
        : JSON.stringify(cells.map((text, n) => ({ n, text })));
    const told = await sendFile(claims, {
      path: '/api/jobs',
      content,
      fileName: `rows.${format.toLowerCase()}`,
    });
    expect(told.text).toContain('jobId');
    const rows = await inputsOf(told.body.jobId);
    expect(rows.length).toBe(cells.length);
    for (const [at, { text }] of rows.entries()) tally.equal(text, cells[at]);
  });

  test('keep every header unchanged or refuse it', async () => {
    await expectNothing(wellFormed, async ({ text, claims: own }) => {
      const content = `n,${quoted(text)}\n1,2\n`;
      const told = await sendFile(own, { path: '/api/jobs', content });
      if (told.status !== 201) return isRefusal(told) ? null : `${told.status} ${told.text}`;
      const { body } = await product.ask(own, { path: `/api/jobs/${told.body.jobId}` });
      const [row] = await inputsOf(told.body.jobId);
      const found = [(body.columns as string[])[1], Object.keys(row ?? {}).find((name) => name !== 'n')];
      // A header without a name gets one, with a note.
      const kept = [text, text.trim(), ...(text.trim() === '' ? ['column_2'] : [])];
      return found.every((name) => kept.includes(String(name))) ? null : `became ${shown(String(found))}`;
    });
  });
});

describe('reports', () => {
  const names = allStrings.filter((text) => !unstorable.includes(text) && text.length <= 500);

  test('keep every campaign name unchanged except for surrounding spaces', { timeout: 180_000 }, async () => {
    const claims = { tenantId: 'the-reports', role: 'admin' } as const;
    const rows = names.map((name, at) => `${1_000 + at},${quoted(name)},2026-03-01,1,"x"`);
    const content = `Campaign ID,Campaign name,Day,Impressions,"odd ""header"""\n${rows.join('\n')}\n`;
    const fields = { ...(await reportFields(claims)), force_partial: 'true' };
    const told = await sendFile(claims, { path: '/api/uploads', fields, content });
    const { body } = await product.ask(claims, { path: `/api/uploads/${told.body.upload_id}` });
    const drive = `/api/jobs/${body.job_id}/kickoff?durationMs=60000`;
    const driven = await product.ask(claims, { method: 'POST', path: drive });
    const after = await product.ask(claims, { path: `/api/uploads/${told.body.upload_id}` });
    expect(after.body, `${driven.text} ${after.text}`).toMatchObject({ total_rows: names.length });
    const kept = await database.owner<{ id: string; name: string | null }>(
      'select external_id as id, name from campaigns where tenant_id = $1',
      [claims.tenantId],
    );
    const byId = new Map(kept.map(({ id, name }) => [id, name]));
    const problems = names.flatMap((name, at) => {
      tally.count();
      const got = byId.get(String(1_000 + at)) ?? '';
      // The platforms write a dash for a name that there is not.
      const expected = name === '-' ? '' : name.trim();
      return got === name || got === expected ? [] : [`${shown(name)} became ${shown(got)}`];
    });
    expect(problems).toEqual([]);
  });

  test('show every unknown header unchanged', async () => {
    const claims = { tenantId: 'the-headers', role: 'admin' } as const;
    const headers = names.filter((text) => text.trim() !== '' && !text.includes('\n'));
    const head = ['Campaign ID', 'Day', 'Impressions', ...headers.map(quoted)].join(',');
    const content = `${head}\n1,2026-03-01,1${',2'.repeat(headers.length)}\n`;
    const fields = { ...(await reportFields(claims)), review: 'true' };
    const told = await sendFile(claims, { path: '/api/uploads', fields, content });
    const { body } = await product.ask(claims, { path: `/api/uploads/${told.body.upload_id}` });
    await product.ask(claims, { method: 'POST', path: `/api/jobs/${body.job_id}/kickoff?durationMs=60000` });
    const after = await product.ask(claims, { path: `/api/uploads/${told.body.upload_id}` });
    const { headers: shownHeaders } = after.body.layout as { headers: string[] };
    expect(after.body).toMatchObject({ status: 'staging_complete', valid_rows: 1 });
    for (const [at, header] of headers.entries()) tally.equal(shownHeaders[at + 3], header);
  });
});

test(`all ${allStrings.length} strings were tried in at least 8 places`, () => {
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
});

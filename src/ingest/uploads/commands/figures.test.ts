import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { expect, test, vi } from 'vitest';
import { useCommandLine } from '../../../../test/support/servers/command-line.ts';
import { testTokens } from '../../../../test/support/servers/server.ts';
import { useUploads } from '../../../../test/support/servers/upload-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { mintToken } from '../../../kernel/tenancy/tokens.ts';

vi.setConfig({ testTimeout: 90_000 });

const database = useDatabase();
const uploads = useUploads(database);
const sluice = useCommandLine();

const report = [
  'Day,Campaign,Campaign ID,Impr.,Clicks,Cost,Currency code',
  '2026-03-01,Spring,11,100,10,1.25,EUR',
  '2026-03-02,Spring,11,200,20,2.50,EUR',
  '2026-03-02,Summer,12,300,30,4.00,USD',
  '',
].join('\n');

async function loaded() {
  const desk = await uploads.desk();
  const made = await uploads.post(desk.claims, report, {
    workspace_id: desk.workspaceId,
    platform: 'google',
  });
  expect(made.status).toBe(201);
  await uploads.drive(desk.tenantId);
  const claims = { tenantId: desk.tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  const env = { SLUICE_URL: uploads.server.url, SLUICE_TOKEN: await mintToken(testTokens, claims) };
  return (...args: string[]) => sluice.runHere(['data', ...args], env);
}

test('totals are printed per group and currency, and as JSON', async () => {
  const data = await loaded();
  const { code, stdout } = await data('totals', '--by', 'campaign', '--sort', 'key');
  expect(code).toBe(0);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(lines.slice(1)).toEqual([
    ['Spring', '2026-03-01', '2026-03-02', '300', '30', '3.75', '–', '–', 'EUR'],
    ['Summer', '2026-03-02', '2026-03-02', '300', '30', '4', '–', '–', 'USD'],
    ['total', '2026-03-01', '2026-03-02', '300', '30', '3.75', '–', '–', 'EUR'],
    ['total', '2026-03-02', '2026-03-02', '300', '30', '4', '–', '–', 'USD'],
  ]);
  const json = await data('totals', '--currency', 'EUR', '--from', '2026-03-02', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ totals: [{ currency: 'EUR', spend: 2.5 }] });
});

test('an export goes to stdout or to a file, whose ending decides the format', async () => {
  const data = await loaded();
  const { stdout } = await data('export', '--campaign', 'summer');
  expect(stdout).toMatch(/^metric_date,platform,/);
  expect(stdout.trim().split('\r\n')).toHaveLength(2);
  const file = path.join(sluice.cwd, 'figures.parquet');
  const written = await data('export', '-o', file, '--json');
  expect(JSON.parse(written.stdout)).toMatchObject({ file, format: 'parquet' });
  const bytes = await readFile(file);
  const rows = await parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
  });
  expect(rows.map(({ spend, currency }) => `${spend} ${currency}`).toSorted()).toEqual([
    '1.25 EUR',
    '2.5 EUR',
    '4 USD',
  ]);
});

test('a wrong day, group or limit is refused with what is allowed', async () => {
  const data = await loaded();
  expect(await data('totals', '--by', 'hour')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Allowed choices are day, week/),
  });
  expect(await data('totals', '--from', 'March')).toMatchObject({
    code: expect.toSatisfy((code) => code !== 0),
  });
  expect(await data('export', '--json')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/with -o FILE/),
  });
});

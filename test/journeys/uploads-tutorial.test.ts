import { spawn } from 'node:child_process';
import { readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../support/fakes/ports.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

vi.setConfig({ testTimeout: 300_000 });

const root = path.join(import.meta.dirname, '../..');
const database = useDatabase();
const sluice = useCommandLine();
let url = '';

beforeAll(async () => {
  await symlink(path.join(root, 'examples'), path.join(sluice.cwd, 'examples'));
  const server = sluice.start(['serve'], {
    DATABASE_URL: database.ownerUrl,
    PORT: '0',
    SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
  });
  const hasStarted = async () => (server.stdout() + server.stderr()).includes('running at');
  await eventually(hasStarted, 'the server runs', 60_000);
  url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
});

/** The blocks of the tutorial, as one script: later ones use what earlier ones have set. */
async function script(): Promise<string> {
  const page = await readFile(path.join(root, 'docs/uploads.md'), 'utf8');
  const tutorial = page.slice(page.indexOf('## Tutorial'), page.indexOf('## From the command line'));
  expect(tutorial).toContain('by test/journeys/uploads-tutorial.test.ts');
  return [...tutorial.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block).join('\n');
}

test('the commands of the tutorial on uploads lead to the figures that its files state', async () => {
  const main = path.join(root, 'dist/main.js');
  const program = `set -e\nsluice() { "${process.execPath}" "${main}" "$@"; }\n${await script()}`;
  const child = spawn('bash', ['-c', program], {
    cwd: sluice.cwd,
    env: {
      PATH: process.env.PATH,
      SLUICE_URL: url,
      DATABASE_URL: database.ownerUrl,
      REPORT_PORT: String(await freePort()),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect({ code: await ended, err: err.slice(-2_000) }).toMatchObject({ code: 0 });
  // 10.00 + 20.50 and 11.00 + 21.50.
  expect(out).toMatch(/2026-03-01 .*30\.5/);
  expect(out).toMatch(/2026-03-02 .*32\.5/);
  expect(out).toContain('"agrees":true');
  expect(out).toContain('"Age":"18-24"');

  const stored = await database.owner(
    `select c.name, sum(m.spend)::float8 as spend, count(*)::integer as days
       from daily_metrics m join campaigns c using (tenant_id, campaign_id)
      group by c.name order by c.name`,
  );
  expect(stored).toEqual([
    { name: 'Autumn sale', spend: 21, days: 3 },
    { name: 'Jingle', spend: 140, days: 1 },
    { name: 'Spring sale', spend: 63, days: 2 },
    { name: 'Summer sale', spend: 11, days: 2 },
  ]);
  const periods = await database.owner(
    'select date_from::text, date_to::text, sum(spend)::float8 as spend from period_metrics group by 1, 2',
  );
  expect(periods).toEqual([{ date_from: '2026-01-01', date_to: '2026-02-28', spend: 1300 }]);

  const exported = parse(await readFile(path.join(sluice.cwd, 'figures.csv')), {
    columns: true,
    bom: true,
  }) as {
    spend: string;
  }[];
  const sum = exported.reduce((total, row) => total + Number(row.spend), 0);
  expect(Math.round(sum * 100) / 100).toBe(21 + 140 + 63 + 11);
});

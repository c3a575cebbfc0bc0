import { spawn } from 'node:child_process';
import { readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

vi.setConfig({ testTimeout: 300_000 });

const root = path.join(import.meta.dirname, '../..');
const database = useDatabase();
const sluice = useCommandLine();
let url = '';
let commands: string[] = [];

beforeAll(async () => {
  await symlink(path.join(root, 'examples'), path.join(sluice.cwd, 'examples'));
  const page = await readFile(path.join(root, 'README.md'), 'utf8');
  commands = commandsIn(page.slice(page.indexOf('run by test/journeys/readme.test.ts')));
  const server = sluice.start(['serve'], { DATABASE_URL: database.ownerUrl, PORT: '0' });
  const hasStarted = async () => (server.stdout() + server.stderr()).includes('running at');
  await eventually(hasStarted, 'the server runs', 60_000);
  url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
});

// The commands are run as they are written, by a shell; `sluice` is the program that was built here.
describe('the commands of the README work as written:', () => {
  test('items ends with two of four rows failed', async () => {
    const { code, output } = await run('sluice items import');
    expect(output).toContain('4 rows, 2 done, 2 failed');
    expect(code).toBe(3);
  });

  test('uploads promotes eleven of twelve rows', async () => {
    const { code, output } = await run('sluice upload');
    expect(output).toMatch(/partial +12 +11 +1 /);
    expect(code).toBe(3);
  });

  test('knowledge indexes the documents, and the first result has the answer', async () => {
    expect(await run('sluice index')).toMatchObject({ code: 0 });
    const { code, output } = await run('sluice search');
    expect(output.slice(0, 200)).toContain('Oil the pump every two weeks.');
    expect(code).toBe(0);
  });

  test('scrapes hands both references over', async () => {
    const { code, output } = await run('sluice scrape');
    expect(output).toMatch(/completed +2 +2 /);
    expect(code).toBe(0);
  });

  test('connectors names the missing credentials', async () => {
    const { code, output } = await run('sluice sync');
    expect(output).toContain('AIRBYTE_WORKSPACE_ID');
    expect(code).toBe(0);
  });
});

/** The commands of the first block, each on one line. */
function commandsIn(page: string): string[] {
  const block = /```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  return block
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

async function run(beginning: string): Promise<{ code: number | null; output: string }> {
  const [command, ...others] = commands.filter((line) => line.startsWith(`${beginning} `));
  if (command === undefined || others.length > 0) throw new Error(`The README must have one ${beginning}`);
  const program = `sluice() { "${process.execPath}" "${path.join(root, 'dist/main.js')}" "$@"; }\n${command}`;
  const child = spawn('sh', ['-c', program], {
    cwd: sluice.cwd,
    env: { SLUICE_URL: url, DATABASE_URL: database.ownerUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, output: out + err };
}

import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
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
  const page = await readFile(path.join(root, 'docs/knowledge.md'), 'utf8');
  const block = page.slice(page.indexOf('run by test/journeys/knowledge-page.test.ts'));
  commands = (/```sh\n([\s\S]*?)```/.exec(block)?.[1] ?? '').split('\n').filter((line) => line !== '');
  const server = sluice.start(['serve'], { DATABASE_URL: database.ownerUrl, PORT: '0' });
  const hasStarted = async () => (server.stdout() + server.stderr()).includes('running at');
  await eventually(hasStarted, 'the server runs', 60_000);
  url = /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
});

// In their order: each goes on where the one before has left the folder and the knowledge base.
describe('the tutorial of the page on knowledge, run as it is written,', () => {
  test('finds leave by the word holiday', async () => {
    await runUntil('sluice search', (output) => expect(output).toContain('thirty days of leave'));
  });

  test('cites the passage with the number, with its words and a link', async () => {
    await runUntil('sluice search', (output) => {
      const [result] = JSON.parse(output).results;
      expect(result.document.uri).toBe('file:pump.md');
      const shown = result.highlights.map(({ start, end }: { start: number; end: number }) =>
        result.text.slice(start, end),
      );
      expect(shown).toContain('seal');
      expect(result.link).toMatch(/^\/knowledge\/handbook\?document=/);
    });
  });

  test('embeds what was changed, and evaluates the answers', async () => {
    await runUntil('sluice knowledge eval', (output) => expect(output).toMatch(/recall/i));
    const { output } = await run('sluice search "thirty-one" --kb handbook --mode text');
    expect(output).toContain('thirty-one days of leave');
  });

  test('finds the pump no more once its file has gone', async () => {
    await runUntil('sluice search', (output) => expect(output).not.toContain('warm oil'));
    expect(commands).toEqual([]);
  });
});

/** Runs the next commands of the page up to the one with this beginning, whose output is checked. */
async function runUntil(beginning: string, check: (output: string) => void): Promise<void> {
  for (;;) {
    const command = commands.shift();
    if (command === undefined) throw new Error(`The page has no further ${beginning}`);
    const { code, output } = await run(command);
    expect(code, `${command}: ${output}`).toBe(0);
    if (!command.startsWith(beginning)) continue;
    check(output);
    return;
  }
}

async function run(command: string): Promise<{ code: number | null; output: string }> {
  const program = `sluice() { "${process.execPath}" "${path.join(root, 'dist/main.js')}" "$@"; }\n${command}`;
  const child = spawn('sh', ['-c', program], {
    cwd: sluice.cwd,
    env: { SLUICE_URL: url, DATABASE_URL: database.ownerUrl, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await ended;
  return { code, output: code === 0 && command.includes('--json') ? out : out + err };
}

import { spawn } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startFakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import { manualPages, serveWebSite } from '../support/fakes/site.ts';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

vi.setConfig({ testTimeout: 300_000 });

const root = path.join(import.meta.dirname, '../..');
const database = useDatabase();
const sluice = useCommandLine();
const mark = '<!-- run by test/journeys/tutorials.test.ts -->';

interface Step {
  commands: string;
  /** What its output has, line by line. */
  shown: string[];
}

/** The marked blocks of a page, each with the block of expected output that follows it. */
async function stepsOf(page: string): Promise<Step[]> {
  const content = await readFile(path.join(root, 'docs', page), 'utf8');
  return content
    .split(mark)
    .slice(1)
    .map((part) => {
      const commands = /^\n```sh\n([\s\S]*?)```/.exec(part)?.[1];
      if (commands === undefined) throw new Error(`A mark of ${page} has no commands below it`);
      const shown = /^\n```sh\n[\s\S]*?```\n\n```text\n([\s\S]*?)```/.exec(part)?.[1] ?? '';
      return { commands, shown: shown.split('\n').filter((line) => line !== '') };
    });
}

async function startServer(env: Record<string, string>): Promise<string> {
  const settings = { DATABASE_URL: database.ownerUrl, PORT: '0', SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false' };
  const server = sluice.start(['serve'], { ...settings, ...env });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  const said = () => server.stdout() + server.stderr();
  await eventually(async () => said().includes('running at'), 'the server runs', 60_000);
  return /running at (\S+)/.exec(server.stdout())?.[1] ?? '';
}

const divider = '=== the next step ===';

/** The steps as one shell session, in a folder of its own; `instead` stands for what readers have of their own. */
async function run(page: string, instead: Record<string, string>): Promise<void> {
  const steps = await stepsOf(page);
  expect(steps.length).toBeGreaterThan(2);
  // Both streams in one, in their order, as a reader sees them.
  const program = `exec 2>&1\nsluice() { "${process.execPath}" "${path.join(root, 'dist/main.js')}" "$@"; }`;
  const session = [program, ...steps.map(({ commands }) => commands)].join(`\necho '${divider}'\n`);
  const script = Object.entries(instead).reduce(
    (all, [theirs, ours]) => all.replaceAll(theirs, ours),
    session,
  );
  const cwd = path.join(sluice.cwd, page.replace('.md', ''));
  await mkdir(cwd);
  const child = spawn('bash', ['-c', script], {
    cwd,
    // Tokens are signed with the secret of the server's folder.
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.ownerUrl,
      SLUICE_DATA_DIR: path.join(sluice.cwd, '.sluice'),
      NO_COLOR: '1',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const output = await text(child.stdout);
  const parts = output.split(divider).slice(1);
  expect(parts, output).toHaveLength(steps.length);
  for (const [at, { commands, shown }] of steps.entries()) {
    for (const line of shown) expect(parts[at], `${page}, after:\n${commands}`).toContain(line);
  }
}

test('the tutorial of items leads from a messy file to an export', async () => {
  await run('items.md', { 'http://127.0.0.1:7400': await startServer({}) });
});

test('the tutorial of connectors leads from credentials to a sync on schedule', async () => {
  const airbyte = await startFakeAirbyte();
  const { connectionId, workspaceId } = airbyte.addConnection();
  const url = await startServer({
    AIRBYTE_BASE_URL: airbyte.url,
    AIRBYTE_CLIENT_ID: airbyte.settings.clientId,
    AIRBYTE_CLIENT_SECRET: airbyte.settings.clientSecret,
    AIRBYTE_WORKSPACE_ID: workspaceId,
    SYNC_POLL_SECONDS: '0.2',
  });
  await run('connectors.md', {
    'http://127.0.0.1:7400': url,
    'CONNECTION=9924bcd0-99be-453d-ba47-c2c9766f7da5': `CONNECTION=${connectionId}`,
  });
});

test('the tutorial of scrapes leads from a page to an answer', async () => {
  const site = await serveWebSite(manualPages);
  await run('scrapes.md', {
    'http://127.0.0.1:7400': await startServer({}),
    'SITE=https://docs.example.com': `SITE=${site.url}`,
  });
});

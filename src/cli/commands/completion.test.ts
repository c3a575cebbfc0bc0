import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { useCommandLine } from '../../../test/support/servers/command-line.ts';

vi.setConfig({ testTimeout: 60_000 });

const run = promisify(execFile);
const sluice = useCommandLine();

/** What bash itself offers for the line. */
async function offered(line: string): Promise<string[]> {
  const { stdout: script } = await sluice.runHere(['completion', 'bash']);
  const file = path.join(sluice.cwd, 'completion.bash');
  await writeFile(file, script);
  const words = line.split(' ');
  const program = `source "${file}"; COMP_WORDS=(${words.map((word) => `"${word}"`).join(' ')})
COMP_CWORD=${words.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', program]);
  return stdout.split('\n').filter(Boolean);
}

test.each([
  { line: 'sluice jo', offers: ['jobs'] },
  { line: 'sluice jobs l', offers: ['list'] },
  { line: 'sluice users invite --ro', offers: ['--role'] },
  { line: 'sluice jobs list --status failed --pip', offers: ['--pipeline'] },
])('bash completes "$line"', async ({ line, offers }) => {
  expect(await offered(line)).toEqual(offers);
});

test('bash offers every command at first', async () => {
  expect(await offered('sluice ')).toEqual(
    expect.arrayContaining(['serve', 'users', 'upload', 'completion']),
  );
});

test.each(['zsh', 'fish'])('the script for %s has every command with what it does', async (shell) => {
  const { code, stdout } = await sluice.runHere(['completion', shell]);
  expect(code).toBe(0);
  expect(stdout).toContain('List jobs');
  expect(stdout).toContain(shell === 'fish' ? '-l pipeline' : "'--pipeline:");
});

test('another shell is wrong usage', async () => {
  expect((await sluice.runHere(['completion', 'csh'])).code).toBe(2);
});

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * The command line of a process, its arguments joined by spaces, or null when there is no such process.
 * A zombie has no command line, so it counts as gone: without a process that reaps orphans it would exist for ever.
 */
export async function findCommand(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return await askPs({ pid, column: 'command' });
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return command === '' ? null : command.replaceAll('\0', ' ');
}

/**
 * Something that differs between two processes that got the same pid one after the other; null when
 * the process is gone. Container restarts hand out the same small pids again and again.
 */
export async function findProcessStamp(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return await askPs({ pid, column: 'lstart' });
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // The program's name stands in brackets and may itself contain brackets and blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startedAt] = [fields[0], fields[19]];
  if (state === 'Z' || startedAt === undefined) return null;
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => 'unknown');
  return `${boot.trim()}/${startedAt}`;
}

async function askPs(question: { pid: number; column: 'command' | 'lstart' }): Promise<string | null> {
  const args = ['-ww', '-o', `${question.column}=`, '-p', String(question.pid)];
  // ps exits with 1 when there is no such process.
  const answer = await run('ps', args, { timeout: 5_000 }).catch(() => null);
  const line = answer?.stdout.trim() ?? '';
  return line === '' || line === '<defunct>' ? null : line;
}

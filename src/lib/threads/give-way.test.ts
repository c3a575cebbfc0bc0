import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import { threadFile } from './thread-file.ts';

const threads: Worker[] = [];

afterEach(async () => {
  await Promise.all(threads.splice(0).map((thread) => thread.terminate()));
});

it.each([
  'workbook-thread',
  'validate-thread',
  'document-thread',
  'decode-thread',
  'cutting-thread',
] as const)('runs %s below the threads that answer requests', async (name) => {
  const before = lowThreads();
  const settings = { strategy: 'fixed', size: 100, overlap: 0 };
  threads.push(new Worker(threadFile(name), { env: {}, execArgv: [], workerData: { settings } }));
  // Priorities of threads exist on Linux alone.
  const more = process.platform === 'linux' ? 1 : 0;
  await vi.waitFor(() => expect(lowThreads()).toBe(before + more), { timeout: 20_000 });
});

/** The kernel's own account: the niceness is field 19 of a thread's status line. */
function lowThreads(): number {
  if (process.platform !== 'linux') return 0;
  return readdirSync('/proc/self/task').filter((id) => {
    const line = readFileSync(`/proc/self/task/${id}/stat`, 'utf8');
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return Number(fields[16]) > 0;
  }).length;
}

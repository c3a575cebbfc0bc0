import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

/** A main thread that is blocked for longer keeps heartbeats, leases and all requests waiting. */
export const longestBlockMs = 50;
/** The same for megabytes of long rows: one row may have 4 MB, and is read and written as a whole. */
export const longestRowBlockMs = 100;

/** Measures how long the main thread of a server process is blocked; see blocking-probe.mjs. */
export function useBlockingProbe() {
  const scratch = mkdtempSync(path.join(tmpdir(), 'sluice-blocking-'));
  const file = path.join(scratch, 'blocks.jsonl');
  const probe = new URL('./blocking-probe.mjs', import.meta.url);
  writeFileSync(file, '');
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  const read = (): number[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { blockMs: number }).blockMs)
      .sort((a, b) => b - a);
  return {
    /** The environment of the process that is measured. */
    env: { NODE_OPTIONS: `--import=${probe.href}`, BLOCKS_FILE: file },
    read,
    /** Of the measured process. */
    pid: () => Number(readFileSync(`${file}.pid`, 'utf8')),
    /** Blocks the thread of the measured process for 100 ms, to test the probe. */
    block: () => process.kill(Number(readFileSync(`${file}.pid`, 'utf8')), 'SIGUSR2'),
    /** Returns and prints the blocks of more than 15 ms during the work, longest first, in milliseconds on a core. */
    async during(name: string, work: () => Promise<void>): Promise<number[]> {
      writeFileSync(file, '');
      await work();
      const blocks = read();
      console.log(
        `${name}: the longest blocks took ${blocks.slice(0, 3).map(Math.round).join(', ') || 'under 15'} ms`,
      );
      return blocks;
    },
  };
}

// A directory for the files of one benchmark.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endOnce } from './cleanup.mjs';

export async function makeScratch() {
  const path = await mkdtemp(join(tmpdir(), 'sluice-bench-files-'));
  return { path, remove: endOnce(() => rm(path, { recursive: true, force: true })) };
}

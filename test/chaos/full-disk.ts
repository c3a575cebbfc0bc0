import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A small file system of its own, which can be filled to the last byte and freed again. */
export interface SmallDisk {
  readonly dir: string;
  readonly freeBytes: number;
  /** Takes all that is left; returns how much it was. */
  fill(): number;
  free(): void;
  /** Unmounts, also when something still has files open on it. */
  close(): Promise<void>;
}

/** Why there can be none here; null if there can. */
export function whyNoSmallDisk(): string | null {
  if (process.platform !== 'linux') return 'tmpfs is there on Linux only.';
  if (process.getuid?.() !== 0) return 'Mounting a file system needs root.';
  return null;
}

export async function mountSmallDisk(sizeBytes: number): Promise<SmallDisk> {
  const dir = await mkdtemp(path.join(tmpdir(), 'sluice-disk-'));
  await chmod(dir, 0o755);
  execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=755`, 'tmpfs', dir]);
  const ballast = path.join(dir, 'ballast');
  return {
    dir,
    get freeBytes() {
      const { bavail, bsize } = statfsSync(dir);
      return bavail * bsize;
    },
    fill: () => writeUntilFull(ballast),
    free: () => rmSync(ballast, { force: true }),
    async close() {
      // Lazily: a process that is just ending must not keep the mount.
      execFileSync('/bin/umount', ['-l', dir]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function writeUntilFull(file: string): number {
  const handle = openSync(file, 'a');
  let written = 0;
  try {
    for (const size of [1024 * 1024, 4096, 512]) {
      const block = Buffer.alloc(size, 1);
      for (;;) {
        try {
          written += writeSync(handle, block);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          break;
        }
      }
    }
    return written;
  } finally {
    closeSync(handle);
  }
}

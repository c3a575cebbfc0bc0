import { lstat } from 'node:fs';

/** What a file looks like from outside. */
export interface FileStamp {
  /** Size, times and inode: the same text again means that nobody has written to the file in between. */
  text: string;
  /** False for a file that may be written to once more without looking any different. */
  isSettled: boolean;
}

/**
 * How long a file must have been left alone: the coarsest clock of a file system that is in use (FAT) has steps of two
 * seconds, and two writes within one step leave the same times. Git calls such an entry racy, and reads it too.
 */
const settledAfterMs = 2_000;

/** Null for what is no file, for a link and for what cannot be looked at: it has to be opened to be known. */
export function findStamp(file: string, now: () => number = Date.now): Promise<FileStamp | null> {
  const lookedAtMs = now();
  return new Promise((resolve) => {
    // The callback's way costs a third of the promise's, which counts where a folder has a hundred thousand files.
    lstat(file, { bigint: true }, (error, found) => {
      if (error || !found.isFile()) {
        resolve(null);
        return;
      }
      const { size, mtimeNs, ctimeNs, ino } = found;
      const changedNs = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
      const isSettled = Number(changedNs / 1_000_000n) < lookedAtMs - settledAfterMs;
      // Writing to a file and setting its time back still moves the time of its inode (ctime), which nobody can set.
      resolve({ text: `${size}:${mtimeNs}:${ctimeNs}:${ino}`, isSettled });
    });
  });
}

import { lstat } from 'node:fs';

export interface FileStamp {
  /** Size, times and inode: if it is the same again, the file was not written in between. */
  text: string;
  /** False if another write may leave the same stamp. */
  isSettled: boolean;
}

/**
 * How long a file must be unchanged. The coarsest file system clock in use (FAT) has steps of two seconds, and two
 * writes within one step leave the same times. Git calls such entries racy, and reads them too.
 */
const settledAfterMs = 2_000;

/** Null for links, for what is not a file, and if the check fails: then the file has to be opened. */
export function findStamp(file: string, now: () => number = Date.now): Promise<FileStamp | null> {
  const lookedAtMs = now();
  return new Promise((resolve) => {
    // The callback API costs a third of the promise API, which matters for a hundred thousand files.
    lstat(file, { bigint: true }, (error, found) => {
      if (error || !found.isFile()) {
        resolve(null);
        return;
      }
      const { size, mtimeNs, ctimeNs, ino } = found;
      const changedNs = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
      const isSettled = Number(changedNs / 1_000_000n) < lookedAtMs - settledAfterMs;
      // Writing a file and resetting its time still changes ctime, which programs cannot set.
      resolve({ text: `${size}:${mtimeNs}:${ctimeNs}:${ino}`, isSettled });
    });
  });
}

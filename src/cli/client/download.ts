import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isMissing } from '../../lib/durable-files.ts';
import { messageOf } from '../../lib/errors.ts';
import { CommandFailure, exitCodes, UsageError } from '../terminal/exit.ts';
import { ProgressLine } from '../terminal/progress.ts';

/** Writes what the server sends, to a file or (null) to stdout. Returns the number of bytes. */
export async function saveDownload(
  chunks: AsyncIterable<Uint8Array>,
  { target, isSilent, signal }: { target: DownloadTarget | null; isSilent: boolean; signal: AbortSignal },
): Promise<number> {
  const progress = new ProgressLine({ isSilent, unit: 'bytes' });
  let done = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      yield chunk;
      done += chunk.length;
      progress.update({ done, total: null });
    }
  }
  try {
    const content = Readable.from(counted(), { objectMode: false });
    if (target === null) await pipeline(content, process.stdout, { end: false, signal });
    else await writeTo(target, content, signal);
    return done;
  } finally {
    progress.end();
  }
}

/** Where a download goes. */
export interface DownloadTarget {
  file: string;
  /** A device or a pipe, which a finished file cannot replace. */
  isSpecial: boolean;
}

export async function findTarget(file: string): Promise<DownloadTarget> {
  try {
    // The file behind a link is replaced, not the link.
    const real = await realpath(file);
    const found = await stat(real);
    if (found.isDirectory()) throw new UsageError(`${file} is a directory. Allowed: the name of a file.`);
    return { file: real, isSpecial: !found.isFile() };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return { file: path.resolve(file), isSpecial: false };
  }
}

/** Writes under another name until it is complete, so that the named file is always whole. */
async function writeTo(
  { file, isSpecial }: DownloadTarget,
  content: Readable,
  signal: AbortSignal,
): Promise<void> {
  if (isSpecial) return pipeline(content, createWriteStream(file), { signal });
  const partial = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.part`);
  try {
    await pipeline(content, createWriteStream(partial, { flush: true }), { signal });
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw isFileProblem(error) ? unwritable(file, error) : error;
  }
}

function isFileProblem(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

function unwritable(file: string, cause: unknown): CommandFailure {
  return new CommandFailure(`${file} cannot be written: ${messageOf(cause)}.`, {
    exitCode: exitCodes.failed,
    next: 'Nothing was left behind. Make room or choose another place with -o, and try again.',
    cause,
  });
}

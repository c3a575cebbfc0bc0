import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { Config } from '../config.ts';
import { loadJwtSecret } from '../kernel/secrets/installation-secrets.ts';
import { mintToken } from '../kernel/tenancy/tokens.ts';
import { isMissing } from '../lib/durable-files.ts';
import { messageOf } from '../lib/errors.ts';
import type { Client } from './client.ts';
import { CommandFailure, exitCodes, UsageError } from './exit.ts';
import { ProgressLine } from './progress.ts';
import { loadCommandConfig } from './setting-flags.ts';
import type { UploadView } from './upload-follow.ts';

export interface RejectedRun {
  uploadId: string;
  /** Undefined: stdout. */
  file: string | undefined;
  command: Command;
  signal: AbortSignal;
}

/** Writes the refused rows of an upload as CSV, each with its reason; answers how many bytes that were. */
export async function downloadRejected(client: Client, run: RejectedRun): Promise<number> {
  const { uploadId, file, command, signal } = run;
  const target = file === undefined ? null : await findTarget(file);
  // Tells a wrong id, a refused token and a server that is away, each in its own words.
  await client.get<UploadView>(`/api/uploads/${uploadId}`, { signal });
  const answer = await openRejected(command, uploadId, signal);
  const progress = new ProgressLine({ unit: 'bytes' });
  let done = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunksOf(answer)) {
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

/** The client downloads by POST only, and this file is behind a GET. */
async function openRejected(command: Command, uploadId: string, signal: AbortSignal): Promise<Response> {
  const { config } = await loadCommandConfig(command);
  const base = (config.url ?? `http://127.0.0.1:${config.port}`).replace(/\/+$/, '');
  const token = config.token ?? (await signToken(config, String(command.opts().tenant)));
  const answer = await fetch(`${base}/api/uploads/${uploadId}/rejected.csv`, {
    headers: { accept: 'text/csv', authorization: `Bearer ${token}` },
    // A token is for the server that was named, not for where it sends us.
    redirect: 'manual',
    signal,
  }).catch((error: unknown) => {
    throw brokenOff(error);
  });
  const isCsv = (answer.headers.get('content-type') ?? '').startsWith('text/csv');
  if (answer.ok && isCsv) return answer;
  await answer.body?.cancel();
  throw new CommandFailure(`The server answered with ${answer.status} instead of the refused rows.`, {
    exitCode: answer.status === 401 || answer.status === 403 ? exitCodes.auth : exitCodes.failed,
    next: 'Check --url or SLUICE_URL, and any proxy in between; the log of the server says more.',
  });
}

const tokenLifetimeSeconds = 600;

/** The client has signed one the same way a moment ago, so the secret is known to be there. */
async function signToken(config: Config, tenantId: string): Promise<string> {
  const secret = await loadJwtSecret({ configured: config.jwtSecret, dataDir: config.dataDir });
  return mintToken(
    { secret, issuer: config.jwtIssuer, audience: config.jwtAudience },
    { tenantId, userId: 'cli', role: 'operator', lifetimeSeconds: tokenLifetimeSeconds },
  );
}

async function* chunksOf(answer: Response): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer.body ?? []) yield chunk as Uint8Array;
  } catch (error) {
    throw brokenOff(error);
  }
}

function brokenOff(cause: unknown): CommandFailure {
  return new CommandFailure(`The server broke off in the middle of its answer: ${messageOf(cause)}.`, {
    exitCode: exitCodes.unreachable,
    next: 'Try again; if it breaks off again, the log of the server says why.',
    isPassing: true,
    cause,
  });
}

interface Target {
  file: string;
  /** A device or a pipe, which cannot be replaced by a finished file. */
  isSpecial: boolean;
}

async function findTarget(file: string): Promise<Target> {
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

/** Under another name until it is complete: whoever finds the file by its name finds all of it. */
async function writeTo({ file, isSpecial }: Target, content: Readable, signal: AbortSignal): Promise<void> {
  if (isSpecial) return pipeline(content, createWriteStream(file), { signal });
  const partial = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.part`);
  try {
    await pipeline(content, createWriteStream(partial, { flush: true }), { signal });
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    if (typeof (error as NodeJS.ErrnoException).syscall !== 'string') throw error;
    throw new CommandFailure(`${file} cannot be written: ${messageOf(error)}.`, {
      exitCode: exitCodes.failed,
      next: 'Nothing was left behind. Make room or choose another place with -o, and try again.',
      cause: error,
    });
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll } from 'vitest';
import { createGuardedFetch, type GuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import { createS3Client } from '../../../src/lib/s3/client.ts';
import type { S3Client, S3ClientOptions } from '../../../src/lib/s3/types.ts';
import { freePort } from './ports.ts';

/** A real S3-compatible server in a process of its own, for one test file; it checks signatures. */
export interface S3Server {
  /** As createS3Client and the settings take them. */
  readonly access: {
    endpoint: string;
    region: string;
    bucket: string;
    accessKeyId: string;
    secretAccessKey: string;
    pathStyle: boolean;
  };
  client(options?: Partial<S3ClientOptions>): S3Client;
  /** A second bucket of the server. */
  readonly otherBucket: string;
  /** Keys of all objects, and of unfinished uploads with `upload:` before them, past the server. */
  listEverything(): Promise<string[]>;
  /** The folder in which the server keeps its buckets. */
  readonly folder: string;
  /** Like a power failure; everything acknowledged stays. */
  kill(): Promise<void>;
  /** Restarts at the same address. */
  start(): Promise<void>;
}

const bucket = 'sluice-files';
const otherBucket = 'inbox';
const keys = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER', region: 'us-east-1' };

export function useS3Server(): S3Server {
  const running: { child?: ChildProcess; fetch?: GuardedFetch } = {};
  let folder = '';
  let port = 0;
  const start = async () => {
    const script = path.join(import.meta.dirname, 's3-server-process.mjs');
    // Its paged list needs a cipher that OpenSSL 3 no longer enables.
    const args = ['--openssl-legacy-provider', script, String(port), folder, bucket, otherBucket];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    running.child = child;
    await untilListening(child);
  };
  const kill = async () => {
    const { child } = running;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const access = () => ({ ...keys, endpoint: `http://127.0.0.1:${port}`, bucket, pathStyle: true });
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'sluice-s3-'));
    running.fetch = createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'test/1' });
    port = await freePort();
    await start();
  });
  afterAll(async () => {
    await kill();
    await running.fetch?.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    get access() {
      return access();
    },
    get folder() {
      return folder;
    },
    client(options) {
      if (!running.fetch) throw new Error('The S3 server is available only after beforeAll has run');
      return createS3Client({ ...access(), fetch: running.fetch, ...options });
    },
    otherBucket,
    listEverything: () => listKept(path.join(folder, bucket)),
    kill,
    start,
  };
}

async function untilListening(child: ChildProcess): Promise<void> {
  if (!child.stdout) throw new Error('The S3 server has no output to read');
  for await (const line of createInterface(child.stdout)) if (line.startsWith('listening on ')) return;
  throw new Error('The S3 server ended before it listened');
}

async function listKept(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const names = entries.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
  const objects = names.flatMap((name) => /^(.*)\._S3rver_object$/.exec(name)?.[1] ?? []);
  const uploads = names.flatMap((name) => /^\._S3rver_uploads\/([^/]+)$/.exec(name)?.[1] ?? []);
  return [...objects, ...uploads.map((uploadId) => `upload:${uploadId}`)].sort();
}

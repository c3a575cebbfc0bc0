import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { serveSite } from './local-site.ts';

/** A repository that Git itself serves over HTTP, and the working copy that its commits are made in. */
export interface GitServer {
  url: string;
  /** The working copy. */
  folder: string;
  git(...args: string[]): string;
  /** The bytes that were sent for each request to `git-upload-pack`. */
  served: number[];
}

/** Until the test ends. With a password, every request needs it. */
export async function startGitServer({
  password = null,
}: {
  password?: string | null;
} = {}): Promise<GitServer> {
  const root = await mkdtemp(path.join(tmpdir(), 'sluice-git-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = path.join(root, 'work');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: root,
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@e',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@e',
    GIT_CONFIG_NOSYSTEM: '1',
  };
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, ...args], { env, encoding: 'utf8' }).trim();
  execFileSync('git', ['init', '-q', '-b', 'main', folder], { env });
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', path.join(root, 'docs.git')], { env });
  git('remote', 'add', 'origin', path.join(root, 'docs.git'));
  const served: number[] = [];
  const site = await serveSite('127.0.0.1', (request, response) => {
    const given = Buffer.from(
      (request.headers.authorization ?? '').replace('Basic ', ''),
      'base64',
    ).toString();
    if (password !== null && given.split(':')[1] !== password) {
      response.writeHead(401, { 'www-authenticate': 'Basic' }).end();
      return;
    }
    serve(request, response, { root, served, env });
  });
  return { url: `http://127.0.0.1:${site.port}/docs.git`, folder, git, served };
}

function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { root, served, env }: { root: string; served: number[]; env: Record<string, string> },
): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://x');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: request.headers['content-length'] ?? '',
    },
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => {});
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  child.on('close', () => {
    const output = Buffer.concat(pieces);
    const end = output.indexOf('\r\n\r\n');
    for (const line of output.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(/:\s*/, 2);
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else if (name !== '') response.setHeader(name, value);
    }
    if (pathname.endsWith('git-upload-pack')) served.push(output.length);
    response.end(output.subarray(end + 4));
  });
}

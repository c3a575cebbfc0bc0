import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type GitServer, startGitServer } from '../../../../test/support/fakes/git-server.ts';
import { guardedFetch, serveSite } from '../../../../test/support/fakes/local-site.ts';
import { readSource } from '../../../../test/support/probes/read-source.ts';
import { type GitDeps, gitSettings, gitSource } from './git.ts';

async function commit(server: GitServer, files: Record<string, string | null>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(server.folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    if (content === null) server.git('rm', '-q', name);
    else await writeFile(file, content);
  }
  server.git('add', '-A');
  server.git('commit', '-qm', 'change');
  server.git('push', '-q', 'origin', 'HEAD');
}

function open(url: string, settings: Record<string, unknown> = {}, deps: Partial<GitDeps> = {}) {
  const fetch = guardedFetch({ blockPrivateAddresses: false });
  return gitSource(gitSettings.parse({ url, ...settings }), { fetch, readToken: async () => null, ...deps });
}

const guide = '# Guide\n\nHow the pump is oiled.\n';

describe('a Git repository', () => {
  test('has the documents of its first branch, of a folder, of another branch and of a tag', async () => {
    const server = await startGitServer();
    await commit(server, {
      'docs/guide.md': guide,
      'docs/a b/ünder.txt': 'Umlaut',
      'code.ts': 'x',
      'README.md': '# R',
    });
    await symlink('/etc/passwd', path.join(server.folder, 'link.md'));
    await commit(server, {});
    server.git('tag', '-a', 'v1', '-m', 'one');
    server.git('push', '-q', 'origin', 'v1');
    server.git('checkout', '-qb', 'next');
    await commit(server, { 'docs/guide.md': null, 'docs/new.md': 'New' });
    const all = await readSource(open(server.url));
    expect(all.uris).toEqual(['git:README.md', 'git:docs/a b/ünder.txt', 'git:docs/guide.md']);
    expect(all.end).toEqual({ isComplete: true });
    expect(all.documents.at(-1)).toMatchObject({ title: 'Guide', text: guide });
    expect((await readSource(open(server.url, { path: 'docs/' }))).uris).toHaveLength(2);
    expect((await readSource(open(server.url, { ref: 'next' }))).uris).toContain('git:docs/new.md');
    expect((await readSource(open(server.url, { ref: 'v1' }))).uris).toContain('git:docs/guide.md');
  });

  test('is not read again where nothing changed, and says that a file has gone by leaving it out', async () => {
    const server = await startGitServer();
    await commit(server, { 'a.md': 'A', 'b.md': 'B', 'c.md': 'C' });
    const first = await readSource(open(server.url));
    await commit(server, { 'a.md': 'A, changed', 'b.md': null });
    const second = await readSource(open(server.url), { known: first.documents });
    expect(second.documents.map(({ kind, uri }) => `${kind} ${uri}`)).toEqual([
      'text git:a.md',
      'unchanged git:c.md',
    ]);
    expect(second.end).toEqual({ isComplete: true });
  });

  test('has what Git has in it, for a hundred versions of files that are packed as deltas', async () => {
    const server = await startGitServer();
    const lines = Array.from(
      { length: 400 },
      (_, at) => `Line ${at}: ${createHash('md5').update(`${at}`).digest('hex')}`,
    );
    for (let version = 0; version < 10; version += 1) {
      const files = Array.from({ length: 10 }, (_, at) => {
        const changed = lines.with((version * 37 + at * 11) % 400, `Changed ${version} ${at}`);
        return [`v${version}/file${at}.txt`, changed.join('\n')] as const;
      });
      await commit(server, Object.fromEntries(files));
    }
    server.git('repack', '-adfq', '--depth=50');
    server.git('push', '-qf', 'origin', 'HEAD');
    const { documents } = await readSource(open(server.url));
    expect(documents).toHaveLength(100);
    for (const document of documents) {
      const name = document.uri.replace('git:', '');
      expect(document).toMatchObject({ kind: 'text', text: server.git('show', `HEAD:${name}`) });
    }
  });

  test('goes on behind the last file of the same commit', async () => {
    const server = await startGitServer();
    await commit(
      server,
      Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}.md`, `Text ${at}`])),
    );
    const whole = await readSource(open(server.url));
    expect(whole.batches.length).toBeGreaterThan(2);
    const [{ cursor, documents } = { cursor: {}, documents: [] }] = whole.batches;
    const rest = await readSource(open(server.url), { cursor });
    expect(rest.uris).toEqual(whole.uris.slice(documents.length));
    await commit(server, { 'f0.md': 'Other' });
    expect((await readSource(open(server.url), { cursor })).uris).toEqual(whole.uris);
  });

  test('that is not there, has no such branch, or is no repository is not complete, and says why', async () => {
    const server = await startGitServer();
    await commit(server, { 'a.md': 'A' });
    const site = await serveSite('127.0.0.1', (_request, response) => response.end('<html>Hello</html>'));
    const cases: [string, Record<string, unknown>, RegExp][] = [
      [server.url.replace('docs.git', 'none.git'), {}, /answered 404/],
      [server.url, { ref: '--upload-pack=touch /tmp/x' }, /has not a branch or tag/],
      [server.url, { path: 'nowhere' }, /no files in "nowhere"/],
      [`http://127.0.0.1:${site.port}`, {}, /form of Git’s protocol/],
    ];
    for (const [url, settings, reason] of cases) {
      const { documents, end } = await readSource(open(url, settings));
      expect(documents).toEqual([]);
      expect(end).toEqual({ isComplete: false, reason: expect.stringMatching(reason) });
    }
  });

  test('is reached with its token, whose text is in no message', async () => {
    const server = await startGitServer({ password: 'glpat-secret' });
    await commit(server, { 'a.md': 'A' });
    const token = (value: string) => async () => ({ value, scrubError: (error: unknown) => error });
    const { uris } = await readSource(open(server.url, {}, { readToken: token('glpat-secret\n') }));
    expect(uris).toEqual(['git:a.md']);
    const refused = await readSource(open(server.url, {}, { readToken: token('wrong') }));
    expect(refused.end).toMatchObject({ isComplete: false, reason: expect.stringContaining('401') });
  });

  test('in a private network is refused, also behind a redirect', async () => {
    const server = await startGitServer();
    await commit(server, { 'a.md': 'A' });
    const fetch = guardedFetch();
    const { documents, end } = await readSource(open(server.url, {}, { fetch }));
    expect(documents).toEqual([]);
    expect(end?.isComplete).toBe(false);
    expect(server.served).toEqual([]);
  });

  test('whose pack is cut off or changed on the way gives an error and no document', async () => {
    const server = await startGitServer();
    await commit(server, { 'a.md': 'A'.repeat(5_000), 'b.md': 'B'.repeat(100) });
    const real = guardedFetch({ blockPrivateAddresses: false });
    for (const damage of ['cut', 'flip'] as const) {
      const stream: typeof real.stream = async (url, options) => {
        const answer = await real.stream(url, options);
        if (!String(options?.body).includes('command=fetch')) return answer;
        const bytes = Buffer.concat(await answer.body.toArray());
        const at = bytes.length - 60;
        if (damage === 'flip') bytes[at] = (bytes[at] ?? 0) ^ 0xff;
        const { Readable } = await import('node:stream');
        return { ...answer, body: Readable.from([damage === 'cut' ? bytes.subarray(0, at) : bytes]) };
      };
      const fetch = Object.assign(real.bind(null), { stream, close: async () => {} });
      await expect(readSource(open(server.url, {}, { fetch })), damage).rejects.toMatchObject({
        code: 'git_pack_broken',
      });
    }
  });

  test('that is too large is refused', async () => {
    const server = await startGitServer();
    await commit(server, { 'a.md': createHash('sha512').update('x').digest('hex').repeat(3) });
    const { end } = await readSource(open(server.url, {}, { maxPackBytes: 100 }));
    expect(end).toMatchObject({
      isComplete: false,
      reason: expect.stringContaining('100 bytes, which is the limit'),
    });
  });

  test('whose folders name each other many times over is refused, and blocks nobody meanwhile', async () => {
    const server = await startGitServer();
    await commit(server, { 'a.md': 'A' });
    const makeTree = (lines: string[]) =>
      execFileSync('git', ['-C', server.folder, 'mktree'], {
        input: lines.join('\n'),
        encoding: 'utf8',
      }).trim();
    let tree = makeTree([]);
    // Ten objects for ten thousand million folders.
    for (let level = 0; level < 10; level += 1) {
      tree = makeTree(Array.from({ length: 10 }, (_, place) => `040000 tree ${tree}\tf${place}`));
    }
    const bomb = server.git('commit-tree', tree, '-m', 'bomb');
    server.git('push', '-qf', 'origin', `${bomb}:refs/heads/main`);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await expect(readSource(open(server.url))).rejects.toMatchObject({ code: 'git_repository_too_large' });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
  });
});

afterAll(() => {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  // A pack is a temporary file without a name: one that is left open takes disk space until the process ends.
  expect(links.filter((target) => target.includes('/sluice-') && target.endsWith('(deleted)'))).toEqual([]);
});

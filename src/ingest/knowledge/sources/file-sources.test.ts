import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLocalFiles } from '../../../kernel/files/local-files.ts';
import { databaseErrors } from '../../../lib/postgres/db-errors.ts';
import { createFilesSource, type StoredFile } from './files.ts';
import { createFolderSource } from './folder.ts';
import { createInlineSource } from './inline.ts';
import type { DocumentBatch, KnownDocument, LoadedDocument, Source, SourceCursor } from './source.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sluice-sources-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Run {
  batches: DocumentBatch[];
  documents: LoadedDocument[];
  uris: string[];
  end: DocumentBatch['end'];
}

async function load(
  source: Source,
  options: { known?: LoadedDocument[]; cursor?: SourceCursor | null; signal?: AbortSignal } = {},
): Promise<Run> {
  const known = new Map((options.known ?? []).map((document) => [document.uri, knownOf(document)]));
  const batches: DocumentBatch[] = [];
  for await (const batch of source.batches({
    cursor: options.cursor ?? null,
    frontier: [],
    findKnown: async (uris) => new Map([...known].filter(([uri]) => uris.includes(uri))),
    signal: options.signal ?? new AbortController().signal,
  })) {
    batches.push(batch);
  }
  const documents = batches.flatMap((batch) => batch.documents);
  return { batches, documents, uris: documents.map(({ uri }) => uri), end: batches.at(-1)?.end };
}

function knownOf(document: LoadedDocument): KnownDocument {
  const contentHash = document.kind === 'text' ? document.contentHash : null;
  return { uri: document.uri, contentHash, etag: null, lastModified: null };
}

/** What a run that goes on behind each batch loads is what the first one loaded behind it. */
async function expectResumable(source: Source): Promise<void> {
  const whole = await load(source);
  expect(whole.batches.length).toBeGreaterThan(2);
  for (const [at, { cursor }] of whole.batches.entries()) {
    const stored = JSON.parse(JSON.stringify(cursor)) as SourceCursor;
    const rest = await load(source, { cursor: stored });
    expect(rest.uris).toEqual(
      whole.batches.slice(at + 1).flatMap(({ documents }) => documents.map((d) => d.uri)),
    );
    expect(rest.end).toEqual(whole.end);
  }
}

describe('the files of a knowledge base', () => {
  const stored: StoredFile[] = [];
  const opened: string[] = [];
  const keys = new Map<string, string>();
  beforeEach(() => {
    stored.length = 0;
    opened.length = 0;
    keys.clear();
  });

  const localFiles = () => createLocalFiles({ root: folder });

  async function store(name: string, content: string): Promise<void> {
    const { storageKey, sha256 } = await localFiles().store(Readable.from([Buffer.from(content)]), {
      maxBytes: 1e9,
    });
    keys.set(name, storageKey);
    stored.push({ fileId: name, name, mediaType: 'application/octet-stream', sha256 });
    stored.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  const source = () =>
    createFilesSource({
      listFiles: async ({ afterName, limit }) =>
        stored.filter(({ name }) => afterName === null || name > afterName).slice(0, limit),
      openFile: async ({ name }) => {
        opened.push(name);
        return localFiles().open(keys.get(name) ?? '');
      },
    });

  test('are read by name, each as what it is', async () => {
    await store('b.html', '<h1>Locks</h1>');
    await store('a.md', '# Gates\n\nwords');
    await store('c.txt', ' ');
    await store('d.pdf', 'nonsense');
    const { documents, end } = await load(source());
    expect(documents).toEqual([
      {
        kind: 'text',
        uri: 'file:a.md',
        title: 'Gates',
        text: '# Gates\n\nwords',
        contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        mediaType: 'text/markdown',
        notes: [],
        metadata: { format: 'markdown' },
      },
      expect.objectContaining({ kind: 'text', uri: 'file:b.html', text: '# Locks' }),
      { kind: 'empty', uri: 'file:c.txt', title: 'c', reason: 'The document has no text.' },
      expect.objectContaining({ kind: 'error', uri: 'file:d.pdf', title: 'd', code: 'pdf_is_broken' }),
    ]);
    expect(end).toEqual({ isComplete: true });
  });

  test('unchanged files are not even opened', async () => {
    await store('a.md', 'first');
    await store('b.md', 'second');
    const { documents } = await load(source());
    stored.splice(0, 1);
    await store('a.md', 'changed');
    opened.length = 0;
    const again = await load(source(), { known: documents });
    expect(again.documents).toMatchObject([
      { kind: 'text', uri: 'file:a.md', text: 'changed' },
      { kind: 'unchanged', uri: 'file:b.md' },
    ]);
    expect(opened).toEqual(['a.md']);
  });

  test('files whose bytes are missing are errors, and the list is still complete', async () => {
    await store('a.md', 'here');
    await store('b.md', 'lost');
    await localFiles().remove(keys.get('b.md') ?? '');
    const { documents, end } = await load(source());
    expect(documents).toMatchObject([
      { kind: 'text' },
      { kind: 'error', uri: 'file:b.md', code: 'file_content_missing' },
    ]);
    expect(end).toEqual({ isComplete: true });
  });

  test('are not errors while the database is down: the source stops', async () => {
    const away = databaseErrors.raise.database_unavailable('The database cannot be reached');
    const broken = createFilesSource({
      listFiles: async () => [
        { fileId: 'a', name: 'a.md', mediaType: 'text/markdown', sha256: '0'.repeat(64) },
      ],
      openFile: () => Promise.reject(away),
    });
    await expect(load(broken)).rejects.toBe(away);
  });

  test('come in batches of 16 or of a megabyte, and continue after each', async () => {
    for (let at = 10; at < 50; at += 1) await store(`${at}.txt`, `text ${at}`);
    const { batches } = await load(source());
    expect(batches.map(({ documents }) => documents.length)).toEqual([16, 16, 8, 0]);
    for (const name of ['11.txt', '12.txt']) {
      stored.splice(
        stored.findIndex((file) => file.name === name),
        1,
      );
      await store(name, 'x'.repeat(1_100_000));
    }
    const large = await load(source());
    expect(large.batches.map(({ documents }) => documents.length)).toEqual([2, 1, 16, 16, 5, 0]);
    await expectResumable(source());
  });

  test('are no longer read once the signal is aborted', async () => {
    await store('a.md', 'here');
    const reason = new Error('over');
    await expect(load(source(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('a folder', () => {
  const write = async (name: string, content: string) => {
    await mkdir(path.dirname(path.join(folder, 'docs', name)), { recursive: true });
    await writeFile(path.join(folder, 'docs', name), content);
  };
  const source = (options: { folder?: string; maxFiles?: number } = {}) =>
    createFolderSource({ root: folder, folder: 'docs', ...options });

  test('is read with its folders, by name, without what is hidden or of another kind', async () => {
    for (const name of [
      'b/z.md',
      'b/a/x.txt',
      'a.MD',
      'b.md',
      '.hidden.md',
      '.git/c.md',
      'program.js',
      'c.doc',
    ]) {
      await write(name, `text of ${name}`);
    }
    const { uris, documents, end } = await load(source());
    expect(uris).toEqual(['file:a.MD', 'file:b/a/x.txt', 'file:b/z.md', 'file:b.md']);
    expect(documents[1]).toMatchObject({ kind: 'text', title: 'x', text: 'text of b/a/x.txt' });
    expect(end).toEqual({ isComplete: true });
  });

  test('goes on behind each batch, whatever the names', async () => {
    const names = ['a', 'a-b', 'a.b', 'a b', 'B', 'é', 'z'];
    for (const [at, name] of names.entries()) {
      for (let file = 0; file < 6; file += 1) await write(`${name}/${file}.md`, `${at} ${file}`);
      await write(`${name}.md`, 'beside the folder');
    }
    await expectResumable(source());
  });

  test('has unchanged files by their bytes, not by their times', async () => {
    await write('a.md', 'same');
    await write('b.md', 'before');
    const { documents } = await load(source());
    await write('a.md', 'same');
    await write('b.md', 'after');
    const again = await load(source(), { known: documents });
    expect(again.documents).toMatchObject([{ kind: 'unchanged' }, { kind: 'text', text: 'after' }]);
  });

  test('does not follow links out of the root, and reads links below it', async () => {
    await writeFile(path.join(tmpdir(), `${path.basename(folder)}-secret.md`), 'secret');
    const secret = path.join(tmpdir(), `${path.basename(folder)}-secret.md`);
    try {
      await write('a.md', 'here');
      await writeFile(path.join(folder, 'beside.md'), 'beside');
      await symlink(secret, path.join(folder, 'docs/out.md'));
      await symlink('../beside.md', path.join(folder, 'docs/in.md'));
      await symlink('nowhere.md', path.join(folder, 'docs/lost.md'));
      await symlink('..', path.join(folder, 'docs/up.md'));
      const { documents, end } = await load(source());
      expect(documents).toMatchObject([
        { kind: 'text', uri: 'file:a.md' },
        { kind: 'text', uri: 'file:in.md', text: 'beside' },
        { kind: 'error', uri: 'file:lost.md', code: 'file_unreadable' },
        { kind: 'error', uri: 'file:out.md', code: 'file_unreadable' },
        { kind: 'error', uri: 'file:up.md', code: 'file_unreadable' },
      ]);
      expect(JSON.stringify(documents)).not.toContain('secret');
      expect(JSON.stringify(documents)).not.toContain(folder);
      expect(end).toEqual({ isComplete: true });
    } finally {
      await rm(secret);
    }
  });

  test('a folder that is outside of the root or missing is incomplete and empty', async () => {
    await write('a.md', 'here');
    await symlink(tmpdir(), path.join(folder, 'out'));
    for (const name of ['..', '../..', 'nowhere', '/etc', 'docs/../..', 'a\0b', 'out', 'docs/a.md']) {
      const { documents, end } = await load(source({ folder: name }));
      expect([documents, end?.isComplete], name).toEqual([[], false]);
      expect(end?.reason).not.toContain(folder);
    }
    expect((await load(source({ folder: 'docs/../docs' }))).uris).toEqual(['file:a.md']);
    expect((await load(source({ folder: '.' }))).uris).toEqual(['file:docs/a.md']);
  });

  test('with more files than allowed says so and is not complete', async () => {
    for (const name of ['a.md', 'b.md', 'c.md']) await write(name, name);
    const { uris, end } = await load(source({ maxFiles: 2 }));
    expect(uris).toEqual(['file:a.md', 'file:b.md']);
    expect(end).toMatchObject({ isComplete: false, reason: expect.stringContaining('more than 2') });
  });

  test('nested too deeply is incomplete, even when resumed after it', async () => {
    await write(`a/${'d/'.repeat(70)}deep.md`, 'deep');
    for (let at = 0; at < 20; at += 1) await write(`b/${at}.md`, 'here');
    const { batches, end } = await load(source());
    expect(end).toMatchObject({ isComplete: false, reason: expect.stringContaining('64') });
    const rest = await load(source(), { cursor: batches[0]?.cursor ?? null });
    expect(rest.end).toEqual(end);
  });

  test('without documents does not count its documents as gone: an unmounted disk looks the same', async () => {
    await mkdir(path.join(folder, 'docs'));
    const { end } = await load(source());
    expect(end).toEqual({ isComplete: false, reason: 'The folder contains no documents' });
  });

  test('a folder that cannot be listed is not complete, and says why', async () => {
    await writeFile(path.join(folder, 'docs'), 'a file where a folder should be');
    const { documents, end } = await load(source());
    expect([documents, end?.isComplete]).toEqual([[], false]);
    expect(end?.reason).toContain('ENOTDIR');
  });
});

describe('a text in the settings of a source', () => {
  test('is one document of the given type', async () => {
    const markdown = await load(createInlineSource({ type: 'markdown', content: '# Gates\n\nwords' }));
    expect(markdown.documents).toMatchObject([
      {
        kind: 'text',
        uri: 'inline:content',
        title: 'Gates',
        text: '# Gates\n\nwords',
        mediaType: 'text/markdown',
      },
    ]);
    expect(markdown.end).toEqual({ isComplete: true });
    const html = await load(createInlineSource({ type: 'html', content: '<h2>Gates</h2>', title: 'Given' }));
    expect(html.documents).toMatchObject([{ title: 'Given', text: '## Gates', mediaType: 'text/html' }]);
    const text = await load(createInlineSource({ type: 'text', content: '%PDF-1.4 is no PDF here \ud800' }));
    expect(text.documents).toMatchObject([{ kind: 'text', text: '%PDF-1.4 is no PDF here \ufffd' }]);
  });

  test('is unchanged until its words or its type change, and empty without words', async () => {
    const { documents } = await load(createInlineSource({ type: 'text', content: 'words' }));
    const kinds = async (type: 'text' | 'markdown', content: string) =>
      (await load(createInlineSource({ type, content }), { known: documents })).documents.map(
        ({ kind }) => kind,
      );
    expect(await kinds('text', 'words')).toEqual(['unchanged']);
    expect(await kinds('text', 'other words')).toEqual(['text']);
    expect(await kinds('markdown', 'words')).toEqual(['text']);
    expect(await kinds('text', ' \n')).toEqual(['empty']);
  });

  test('a text that was read before a crash is not read again', async () => {
    const source = createInlineSource({ type: 'text', content: 'words' });
    const { batches } = await load(source);
    const rest = await load(source, { cursor: batches[0]?.cursor ?? null });
    expect([rest.documents, rest.end]).toEqual([[], { isComplete: true }]);
  });
});

test('a new version of the readers reads unchanged files again', async () => {
  const sha256 = createHash('sha256').update('words').digest('hex');
  const source = createFilesSource({
    listFiles: async ({ afterName }) =>
      afterName === null ? [{ fileId: '1', name: 'a.txt', mediaType: 'text/plain', sha256 }] : [],
    openFile: async () => Readable.from([Buffer.from('words')]),
  });
  const { documents } = await load(source);
  expect(documents).toMatchObject([{ kind: 'text', contentHash: expect.not.stringContaining(sha256) }]);
});

test('a file with more bytes than the limit is refused, and is not read to its end', async () => {
  let pieces = 0;
  function* endless() {
    for (; pieces < 1_000; pieces += 1) yield Buffer.alloc(4, 'x');
  }
  const source = createFilesSource({
    listFiles: async () => [{ fileId: '1', name: 'a.txt', mediaType: 'text/plain', sha256: '0'.repeat(64) }],
    openFile: async () => Readable.from(endless()),
    limits: { maxBytes: 10 },
  });
  const { documents } = await load(source);
  expect(documents).toMatchObject([{ kind: 'error', code: 'document_too_large' }]);
  expect(pieces).toBeLessThan(100);
});

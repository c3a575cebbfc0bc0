import { afterEach, describe, expect, test } from 'vitest';
import { pdfDocument } from '../../../../test/generators/pdf-document.ts';
import { DocumentReader } from './document-reader.ts';
import { readDocument } from './read-document.ts';
import type { DocumentLimits } from './types.ts';

const readers: DocumentReader[] = [];
const never = new AbortController().signal;

afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.close();
});

function open(options: { heapMb?: number } = {}) {
  const reader = new DocumentReader(options);
  readers.push(reader);
  return {
    reader,
    read: (bytes: Buffer, name: string, limits: Partial<DocumentLimits> = {}, signal = never) =>
      readDocument({ bytes, name }, { signal, limits, reader }),
  };
}

const small = Buffer.from('<h1>Small</h1>');
const book = (pages = 3_000) =>
  pdfDocument({ pages: Array.from({ length: pages }, (_, at) => [`Page ${at}`, 'has words of its own']) });

describe('a document that takes too much', () => {
  test('a document that takes too long is given up, and the next one is read', async () => {
    const { read } = open();
    expect(await read(small, 'a.html')).toMatchObject({ kind: 'text' });
    const results = await Promise.all([read(book(), 'book.pdf', { documentMs: 100 }), read(small, 'a.html')]);
    expect(results[0]).toMatchObject({ kind: 'error', code: 'document_takes_too_long', title: 'book' });
    expect(results[1]).toMatchObject({ kind: 'text', text: '# Small' });
  });

  test('a document that takes too long for one piece is given up, though its whole time is not over', async () => {
    const { read } = open();
    expect(await read(small, 'a.html')).toMatchObject({ kind: 'text' });
    const nested = Buffer.from(`<html><body>${'<table><tr><td>'.repeat(30_000)}deep`);
    const result = await read(nested, 'deep.html', { pieceMs: 100 });
    expect(result).toMatchObject({ kind: 'error', code: 'document_takes_too_long' });
    expect(await read(small, 'a.html')).toMatchObject({ kind: 'text' });
  });

  test('a document that takes too much memory costs its thread and not the process', {
    timeout: 180_000,
  }, async () => {
    const { read } = open({ heapMb: 48 });
    const wide = Buffer.from(`<html><body>${'<p>word</p>'.repeat(1_000_000)}`);
    // A collector that fights for its last bytes may take long, and no time limit is to be first.
    const result = await read(wide, 'wide.html', { pieceMs: 150_000 });
    expect(result).toMatchObject({ kind: 'error', code: 'document_needs_too_much_memory', title: 'wide' });
    expect(await read(small, 'a.html')).toMatchObject({ kind: 'text' });
  });
});

describe('the thread', () => {
  test('does not block the process while a large document is read', async () => {
    const { read } = open();
    await read(small, 'a.html');
    let turns = 0;
    let isRead = false;
    const count = () => {
      turns += 1;
      if (!isRead) setTimeout(count, 1);
    };
    count();
    expect(await read(book(300), 'book.pdf')).toMatchObject({ kind: 'text' });
    isRead = true;
    expect(turns).toBeGreaterThan(20);
  });

  test('gives a line of 20 MB back whole', async () => {
    const { read } = open();
    const line = 'word '.repeat(4 * 1024 * 1024);
    const result = await read(Buffer.from(line), 'line.txt');
    expect(result.kind === 'text' && result.text === line).toBe(true);
  });

  test('does not take the bytes away from the caller', async () => {
    const { read } = open();
    const bytes = Buffer.from(small);
    await read(bytes, 'a.html');
    expect(bytes.equals(small)).toBe(true);
  });
});

describe('a signal', () => {
  const reason = new Error('the lease is gone');

  test('ends the reading at once, and the next document is read', async () => {
    const { read } = open();
    await read(small, 'a.html');
    const [reading, waiting] = [new AbortController(), new AbortController()];
    const results = [
      read(book(), 'book.pdf', {}, reading.signal),
      read(small, 'b.html', {}, waiting.signal),
      read(small, 'c.html'),
    ];
    const settled = Promise.allSettled(results);
    waiting.abort(reason);
    reading.abort(reason);
    expect(await settled).toMatchObject([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
      { status: 'fulfilled', value: { kind: 'text' } },
    ]);
  });

  test('a signal that is aborted before the call starts no reading', async () => {
    const { read } = open();
    await expect(read(small, 'a.html', {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

test('a reader that is closed fails waiting documents, and a later document starts it again', async () => {
  const { reader, read } = open();
  await read(small, 'a.html');
  const waiting = [read(book(), 'book.pdf'), read(small, 'b.html')];
  await new Promise((resolve) => setImmediate(resolve));
  await reader.closeIfIdle();
  await reader.close();
  for (const result of await Promise.all(waiting)) {
    expect(result).toMatchObject({ kind: 'error', code: 'document_reader_failed' });
  }
  expect(await read(small, 'a.html')).toMatchObject({ kind: 'text' });
});

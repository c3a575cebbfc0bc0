import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { threadFile } from '../../../lib/threads/thread-file.ts';
import { toUnitLength } from './embedder.ts';
import { LocalEmbedder, type LocalEmbedderSettings } from './local.ts';
import { loadPieces } from './local-assets.ts';
import { currentModel, localModelNames, localModels } from './local-models.ts';
import type { ThreadStart } from './local-protocol.ts';
import { windowsOf } from './local-windows.ts';

const built = threadFile('local-thread');
const { signal } = new AbortController();

const startBuilt = (workerData: ThreadStart) => new Worker(built, { execArgv: [], workerData });
/** The built thread, which throws when it is given the word. */
const startMortal = (workerData: ThreadStart) => {
  const code = `
    import(${JSON.stringify(built.href)}).then(() => {
      require('node:worker_threads').parentPort.on('message', ({ texts }) => {
        if (texts?.includes('die')) throw new Error('out of luck');
      });
    });`;
  return new Worker(code, { eval: true, execArgv: [], workerData });
};

/** An embedder whose threads the test can get at; closed when the test ends. */
function openLocal(settings: LocalEmbedderSettings = {}) {
  const threads: Worker[] = [];
  const { startThread = startBuilt } = settings;
  const embedder = new LocalEmbedder({
    ...settings,
    startThread: (start) => {
      const thread = startThread(start);
      threads.push(thread);
      return thread;
    },
  });
  onTestFinished(() => embedder.close());
  return { embedder, threads };
}

const ended = (thread: Worker | undefined) => new Promise((resolve) => thread?.once('exit', resolve));
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
const only = (vectors: Float32Array[]) => vectors[0] ?? new Float32Array();

describe('a vector', () => {
  test.each(localModelNames)(
    'of %s has its dimensions, length 1, and the position of its text',
    async (model) => {
      const embedder = new LocalEmbedder({ model });
      onTestFinished(() => embedder.close());
      const { dimensions } = localModels[model];
      const texts = ['The dog barks.', 'Interest rates went up.', 'A hound is making noise.'];
      const vectors = await embedder.embed(texts, { signal });
      expect(vectors.map(({ length }) => length)).toEqual([dimensions, dimensions, dimensions]);
      for (const vector of vectors) expect(dot(vector, vector)).toBeCloseTo(1, 5);
      const [dog, rates, hound] = vectors as [Float32Array, Float32Array, Float32Array];
      expect(dot(dog, hound)).toBeGreaterThan(dot(dog, rates) + 0.2);
    },
  );

  test('is the same to the last bit, alone or among others, and in another thread', async () => {
    const text = 'A stalled job is visible, and it is rescued by another worker.';
    const first = openLocal();
    const alone = only(await first.embedder.embed([text], { signal }));
    const others = ['short', 'a much longer text '.repeat(20), 'unrelated words'];
    const [, , among] = await first.embedder.embed([others[0] ?? '', others[1] ?? '', text], { signal });
    const elsewhere = only(await openLocal().embedder.embed([text], { signal }));
    expect([among, elsewhere]).toEqual([alone, alone]);
  });

  test('a vector of a long text is the mean of its windows, so its end counts', async () => {
    const { embedder } = openLocal();
    const about = (what: string) => `${what} `.repeat(100).trim();
    const [both, first, last] = await embedder.embed(
      [`${about('cooking soup')} ${about('space travel')}`, about('cooking soup'), about('space travel')],
      { signal },
    );
    const pieces = await loadPieces(localModels[currentModel]);
    const all = pieces.encode(`${about('cooking soup')} ${about('space travel')}`);
    expect(windowsOf(all, localModels[currentModel].windowTokens)).toHaveLength(2);
    const mean = toUnitLength((first ?? []).map((value, at) => value + (last?.[at] ?? 0)));
    expect(dot(both ?? new Float32Array(), mean ?? new Float32Array())).toBeGreaterThan(0.95);
  });

  test('is made of text in other scripts and of control characters too', async () => {
    const { embedder } = openLocal();
    for (const vector of await embedder.embed(['日本語', '\u0000\ud800', '😀'], { signal })) {
      expect(dot(vector, vector)).toBeCloseTo(1, 5);
    }
  });

  test('is refused for an empty list, a text without words, and one that is too long', async () => {
    const { embedder, threads } = openLocal();
    expect(await embedder.embed([], { signal })).toEqual([]);
    expect(threads).toEqual([]);
    await expect(embedder.embed(['fine', ' \n'], { signal })).rejects.toMatchObject({
      code: 'embedder_refused',
      kind: 'invalid',
      message: expect.stringContaining('Text 2 of 2'),
    });
    await expect(embedder.embed(['x'.repeat(100_001)], { signal })).rejects.toMatchObject({
      code: 'embedder_text_too_long',
    });
  });
});

describe('the thread', () => {
  test('serves all calls, starts with the first, and does not block the event loop', async () => {
    const { embedder, threads } = openLocal();
    expect(threads).toHaveLength(0);
    let isDone = false;
    const calls = Array.from({ length: 3 }, () => embedder.embed(Array(8).fill('Some words.'), { signal }));
    const all = Promise.all(calls).finally(() => {
      isDone = true;
    });
    let turns = 0;
    for (; !isDone; turns += 1) await nextTurn();
    expect((await all).map((vectors) => vectors.length)).toEqual([8, 8, 8]);
    expect(turns).toBeGreaterThan(100);
    expect(threads).toHaveLength(1);
  });

  test('serves a short call while a long one is at work', async () => {
    const { embedder } = openLocal();
    const order: string[] = [];
    const long = embedder
      .embed(Array(60).fill('a long group '.repeat(30)), { signal })
      .then(() => order.push('long'));
    const short = embedder.embed(['a question'], { signal }).then(() => order.push('short'));
    await Promise.all([long, short]);
    expect(order).toEqual(['short', 'long']);
  });

  test('a thread that dies fails the calls that wait for it, and the next call gets a new one', async () => {
    const { embedder, threads } = openLocal({ startThread: startMortal });
    const before = only(await embedder.embed(['hello'], { signal }));
    const waiting = [Array(60).fill('words '.repeat(100)), ['die']].map((texts) =>
      embedder.embed(texts, { signal }),
    );
    for (const outcome of await Promise.allSettled(waiting)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'embedder_stopped',
          kind: 'transient',
          message: expect.stringContaining('out of luck'),
        },
      });
    }
    expect(only(await embedder.embed(['hello'], { signal }))).toEqual(before);
    expect(threads).toHaveLength(2);
  });

  test('a thread that cannot load its model reports a permanent error', async () => {
    const unusable =
      "require('node:worker_threads').parentPort.postMessage({ type: 'unusable', message: 'no model' })";
    const { embedder } = openLocal({ startThread: () => new Worker(unusable, { eval: true }) });
    await expect(embedder.embed(['hello'], { signal })).rejects.toMatchObject({
      code: 'embedder_unavailable',
      kind: 'bug',
    });
  });

  test('a thread that cannot be started is reported', async () => {
    const { embedder } = openLocal({
      startThread: () => {
        throw new Error('run the build first');
      },
    });
    await expect(embedder.embed(['hello'], { signal })).rejects.toMatchObject({
      code: 'embedder_unavailable',
      message: 'run the build first',
    });
  });

  test('ends when it is idle, and starts again with the next call', async () => {
    const { embedder, threads } = openLocal({ idleMs: 1 });
    await embedder.embed(['hello'], { signal });
    await ended(threads[0]);
    expect(await embedder.embed(['hello'], { signal })).toHaveLength(1);
    expect(threads).toHaveLength(2);
  });

  test('ends with the embedder, and open calls fail', async () => {
    const { embedder, threads } = openLocal();
    const waiting = embedder.embed(Array(60).fill('words '.repeat(100)), { signal });
    const failure = expect(waiting).rejects.toMatchObject({ code: 'embedder_stopped' });
    const gone = ended(threads[0]);
    await embedder.close();
    await Promise.all([failure, gone]);
    await expect(embedder.embed(['hello'], { signal })).rejects.toMatchObject({ code: 'embedder_stopped' });
    expect(threads).toHaveLength(1);
  });
});

describe('a caller that aborts', () => {
  test('gets its own reason at once, and the thread continues with other calls', async () => {
    const { embedder, threads } = openLocal();
    const giveUp = new AbortController();
    const long = embedder.embed(Array(60).fill('words '.repeat(2_000)), { signal: giveUp.signal });
    const reason = new Error('the lease is gone');
    const failure = expect(long).rejects.toBe(reason);
    const other = embedder.embed(['hello'], { signal });
    giveUp.abort(reason);
    await failure;
    expect(await other).toHaveLength(1);
    expect(threads).toHaveLength(1);
  });

  test('before the call starts no thread', async () => {
    const { embedder, threads } = openLocal();
    const reason = new Error('enough');
    await expect(embedder.embed(['hello'], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(threads).toEqual([]);
  });
});

describe('a process that ends', () => {
  const module = new URL('modules/ingest/knowledge/embedders/local.js', built).href;
  const lines = [
    `import { LocalEmbedder } from ${JSON.stringify(module)};`,
    'const embedder = new LocalEmbedder();',
    'const { signal } = new AbortController();',
    "const long = Array(60).fill('words '.repeat(2_000));",
  ];
  const ends: [string, number, string[]][] = [
    ['by itself after its last call', 0, ["await embedder.embed(['hello'], { signal });"]],
    [
      'while the model is at work',
      3,
      [
        'embedder.embed(long, { signal });',
        "await embedder.embed(['hello'], { signal });",
        // Almost all of the time the thread is inside native code.
        'setTimeout(() => process.exit(3), 15);',
      ],
    ],
    [
      'while the model is loaded',
      3,
      ['embedder.embed(long, { signal });', 'setImmediate(() => process.exit(3));'],
    ],
  ];

  test.each(ends)('%s has its own exit code: %i', async (_when, code, rest) => {
    expect(await runScript([...lines, ...rest])).toEqual([code, null, '']);
  });

  test('leaves no files: the runtime stores no telemetry', async () => {
    const home = mkdtempSync(path.join(tmpdir(), 'sluice-embedder-'));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const { ORT_DISABLE_TELEMETRY: _told, XDG_CACHE_HOME: _cache, ...env } = process.env;
    const script = [...lines, "await embedder.embed(['hello'], { signal });"];
    expect(await runScript(script, { ...env, HOME: home, TMPDIR: home })).toEqual([0, null, '']);
    expect(readdirSync(home)).toEqual([]);
  });

  /** Exit code, signal, and everything that it wrote. */
  async function runScript(script: readonly string[], env = process.env) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script.join('\n')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    let words = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (words += chunk));
    const [exitCode, killedBy] = await once(child, 'close');
    return [exitCode, killedBy, words];
  }
});

describe('tenants', () => {
  test('take turns: the text of one does not wait for the many that another sent before', async () => {
    const { embedder } = openLocal();
    await embedder.embed(['The model is loaded.'], { signal });
    const order: string[] = [];
    const embed = async (tenantId: string) => {
      await embedder.embed(['The dog barks.'], { signal, tenantId });
      order.push(tenantId);
    };
    await Promise.all([...Array.from({ length: 200 }, () => embed('greedy')), embed('quiet')]);
    expect(order).toHaveLength(201);
    // First come, first served would make it the last. Some may be done before its message arrives.
    expect(order.indexOf('quiet')).toBeLessThan(100);
  });
});

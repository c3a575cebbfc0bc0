/**
 * Failpoints at the seams of a real process, given to it with `--import`: the product knows nothing of them. Every
 * message to the database, every file operation below the files directory and every outgoing request that belongs to
 * one tenant is a point, before it is sent and after its answer has come, and at the chosen one the process kills
 * itself. A point is named by what it is and how often that was passed before: numbers would shift with every
 * notification that was sent together with another one.
 *
 * A message belongs to the tenant when it names it, when its answer does (a claim), or when an earlier message of the
 * same transaction did. So heartbeats, polling and upkeep do not count.
 */
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import pg from 'pg';

const filesRoot = path.resolve(process.env.SLUICE_DATA_DIR ?? '.sluice', 'files');

/** What the test has asked for: `{ tenantId, at, traceFile }`, and how far it has come. Null: nothing is counted. */
let armed = null;

wrapDatabase();
wrapFiles();
wrapRequests();
await waitForStart();

/** Serves the test's messages, and holds the program back until told to start: everything is loaded by then. */
async function waitForStart() {
  let start = () => {};
  const started = new Promise((resolve) => {
    start = resolve;
  });
  process.on('message', ({ id, arm, isStart }) => {
    if (isStart) start();
    if (arm !== undefined) armed = arm === null ? null : { ...arm, count: 0, open: 0, seen: new Map() };
    process.send({ id, count: armed?.count ?? 0, open: armed?.open ?? 0 });
  });
  // A test that was interrupted must not leave its processes behind.
  process.on('disconnect', () => process.exit());
  await import(new URL('../../dist/app.js', import.meta.url).href);
  await started;
  // From now on the product decides when it ends, not this channel.
  process.channel?.unref();
}

/** One point. The trace is written first and at once, so that the test can read where the process died. */
function pass(label) {
  if (armed === null) return;
  const times = (armed.seen.get(label) ?? 0) + 1;
  armed.seen.set(label, times);
  armed.count += 1;
  const point = `${label} #${times}`;
  fs.appendFileSync(armed.traceFile, `${point}\n`);
  if (point === armed.at) process.kill(process.pid, 'SIGKILL');
}

/** Both points (before and after) of one call of a seam. */
async function passAround(label, call) {
  const run = armed;
  if (run === null) return call();
  pass(`before ${label}`);
  run.open += 1;
  try {
    return await call();
  } finally {
    run.open -= 1;
    if (run === armed) pass(`after ${label}`);
  }
}

function wrapDatabase() {
  const send = pg.Client.prototype.query;
  /** Clients that are inside of a transaction; true: one that has named the tenant. */
  const transactions = new WeakMap();
  pg.Client.prototype.query = function query(...args) {
    const [config, values] = args;
    const text = textOf(config);
    if (/^begin\b/i.test(text)) transactions.set(this, false);
    const run = armed;
    const isOurs = run !== null && (transactions.get(this) || namesTenant(text, valuesOf(config) ?? values));
    const label = `message: ${labelOf(text)}`;
    if (isOurs) {
      if (transactions.has(this)) transactions.set(this, true);
      pass(`before ${label}`);
      run.open += 1;
    }
    return answered(
      args,
      (...sent) => send.apply(this, sent),
      (answer) => {
        if (isOurs) run.open -= 1;
        const isKnown = run !== null && run === armed;
        if (isKnown && (isOurs || answerNamesTenant(answer))) {
          if (transactions.has(this)) transactions.set(this, true);
          pass(`after ${label}`);
        }
        if (/^(commit|rollback)$/i.test(text)) transactions.delete(this);
      },
    );
  };
}

/** Calls `onAnswer` before the caller gets the result, in each of the driver's three ways to return one. */
function answered(args, send, onAnswer) {
  const first = args[0];
  if (typeof first?.submit === 'function') {
    const { callback } = first;
    first.callback = (error, result) => {
      onAnswer(result);
      callback(error, result);
    };
    return send(...args);
  }
  const at = args.findIndex((arg) => typeof arg === 'function');
  if (at !== -1) {
    const callback = args[at];
    const heard = (error, result) => {
      onAnswer(result);
      callback(error, result);
    };
    return send(...args.with(at, heard));
  }
  const sent = send(...args);
  return sent.then(
    (result) => {
      onAnswer(result);
      return result;
    },
    (error) => {
      onAnswer(undefined);
      throw error;
    },
  );
}

/** Several statements may be sent as one message. */
function textOf(config) {
  if (typeof config === 'string') return config;
  return config.statements?.map(({ text }) => text).join(';\n') ?? config.text;
}

function valuesOf(config) {
  return config.statements?.flatMap(({ values }) => values) ?? config.values;
}

function namesTenant(text, values) {
  // What wakes others up names nobody; in the database of one test file it is always this run's.
  if (text.includes('pg_notify(')) return true;
  return text.includes(armed.tenantId) || (Array.isArray(values) && mentions(values));
}

function answerNamesTenant(answer) {
  const last = Array.isArray(answer) ? answer.at(-1) : answer;
  return Array.isArray(last?.rows) && last.rows.length > 0 && mentions(last.rows);
}

function mentions(value) {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part)).includes(
    armed.tenantId,
  );
}

/** What the message is about, without the context that every transaction begins with. */
function labelOf(text) {
  if (text.startsWith("select set_config('role', $1")) return 'step into a role';
  const statements = text.split(';\n').filter((one) => !one.startsWith('select set_config('));
  const words = statements.join('; ').replaceAll(armed?.tenantId ?? '\0', '<tenant>');
  return words.replace(/\s+/g, ' ').trim().slice(0, 120);
}

function wrapFiles() {
  for (const name of ['open', 'rename', 'rm', 'mkdir']) {
    const original = fs.promises[name];
    fs.promises[name] = async (target, ...rest) => {
      const isOurs = isStoredFile(target);
      const call = () => original(target, ...rest);
      const result = isOurs ? await passAround(`file: ${name} ${shapeOf(target)}`, call) : await call();
      return isOurs && name === 'open' ? withPoints(result, shapeOf(target)) : result;
    };
  }
  syncBuiltinESMExports();
}

function withPoints(handle, shape) {
  for (const name of ['read', 'write', 'sync', 'close']) {
    const original = handle[name].bind(handle);
    handle[name] = (...args) => passAround(`file: ${name} ${shape}`, () => original(...args));
  }
  return handle;
}

function isStoredFile(target) {
  return typeof target === 'string' && (target === filesRoot || target.startsWith(`${filesRoot}${path.sep}`));
}

/** Random names would make every trace different. */
function shapeOf(target) {
  const below = path.relative(filesRoot, target);
  if (below.startsWith('tmp')) return below === 'tmp' ? 'tmp/' : 'tmp/<draft>';
  return ['files/', 'ab/', 'ab/cd/', 'ab/cd/<file>'][below === '' ? 0 : below.split(path.sep).length];
}

function wrapRequests() {
  const undici = createRequire(import.meta.url)('undici');
  const { request } = undici;
  undici.request = (url, ...rest) =>
    passAround(`request: ${new URL(url).pathname}`, () => request(url, ...rest));
}

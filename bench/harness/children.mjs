// Child processes of a benchmark. A child says `ready` when it is connected and idle, and starts to work at `go`.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endOnce } from './cleanup.mjs';

const waitLimitMs = 120_000;

/** Starts a program of bench/contenders/ and waits until it is ready; `onMessage` gets everything else it says. */
export async function startContender(program, settings, onMessage = () => {}, nodeFlags = []) {
  const path = fileURLToPath(new URL(`../contenders/${program}`, import.meta.url));
  const child = fork(path, [JSON.stringify(settings)], {
    env: { ...process.env, NO_LOG_SUCCESS: '1' },
    execArgv: nodeFlags,
  });
  const stop = endOnce(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${program} ended with ${code} before it was ready`)));
    child.on('message', (message) => (message.is === 'ready' ? resolve() : onMessage(message, child)));
  });
  return {
    child,
    stop,
    go: () => child.send('go'),
    /** The exit of a program that ends by itself; an error when it fails or never ends. */
    ended: () => endOf(child, program),
  };
}

async function endOf(child, program) {
  if (child.exitCode === null) await once(child, 'exit');
  if (child.exitCode !== 0) throw new Error(`${program} ended with ${child.exitCode ?? child.signalCode}`);
}

/** Calls `check` until it returns true. */
export async function until(what, check, { everyMs = 10, limitMs = waitLimitMs } = {}) {
  const deadline = performance.now() + limitMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

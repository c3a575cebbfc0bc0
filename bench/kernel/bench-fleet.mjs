// Worker processes of a benchmark, and what they tell.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('bench-worker.mjs', import.meta.url));
const waitLimitMs = 60_000;

export function openFleet({ appUrl, holdFirst }) {
  const living = new Set();
  const waiting = new Map();
  return {
    /** Resolves when the worker takes jobs. */
    async start() {
      const child = fork(program, [JSON.stringify({ appUrl, holdFirst })]);
      living.add(child);
      child.once('exit', () => living.delete(child));
      await new Promise((resolve, reject) => {
        child.once('exit', (code) => reject(new Error(`A worker ended with ${code} before it had started`)));
        child.on('message', (message) => {
          if (message.is === 'started') resolve();
          else waiting.get(message.subjectId)?.({ child, atNs: BigInt(message.atNs) });
        });
      });
      return child;
    },
    /** The next beginning of a slice of this job: where, and when. */
    nextBegin(subjectId) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(subjectId);
          reject(new Error(`No slice of the job of ${subjectId} began within ${waitLimitMs} ms`));
        }, waitLimitMs);
        waiting.set(subjectId, (begin) => {
          clearTimeout(timer);
          waiting.delete(subjectId);
          resolve(begin);
        });
      });
    },
    /** kill -9; answers the moment before it. */
    kill(child) {
      const atNs = process.hrtime.bigint();
      child.kill('SIGKILL');
      return atNs;
    },
    async close() {
      const ended = [...living].map((child) => once(child, 'exit'));
      for (const child of living) child.kill('SIGKILL');
      await Promise.all(ended);
    },
  };
}

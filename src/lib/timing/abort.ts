import { setTimeout as sleep } from 'node:timers/promises';

/** The result of the promise, unless the signal aborts first: then it rejects with the signal's reason. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    promise.finally(() => signal.removeEventListener('abort', giveUp)).then(resolve, reject);
  });
}

/** Waits that long, or until the signal aborts, which the caller checks next. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

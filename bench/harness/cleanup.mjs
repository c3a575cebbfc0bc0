// What must not outlive the runner: servers, worker processes, temporary directories.
const pending = new Set();
let stopping = false;

/** A function that ends something once, however often it is called; a signal calls it too. */
export function endOnce(end) {
  let ended = null;
  const stop = () => {
    ended ??= end().finally(() => pending.delete(stop));
    return ended;
  };
  pending.add(stop);
  return stop;
}

/** A signal has come: nothing new may be started. */
export function isStopping() {
  return stopping;
}

export function endOnSignals() {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, () => leave(code));
  }
  // A closed output (`| head`) must not leave a server behind.
  process.once('uncaughtException', (error) => {
    if (error.code !== 'EPIPE') console.error(error);
    void leave(2);
  });
}

async function leave(code) {
  stopping = true;
  await endAll();
  process.exit(code);
}

/** Last started, first ended: processes before the server that they are connected to. */
export async function endAll() {
  for (const stop of [...pending].reverse()) {
    await stop().catch((error) => console.error(`Something could not be ended: ${error.message}`));
  }
}

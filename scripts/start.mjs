// `npm start -- <args>`: the command line of Sluice from a checkout, built first when the sources have changed.
// It runs in this process, so that signals and exit codes are the server's own.
import { build } from './build.mjs';

endWithParent();

const result = await build();
if (result.status === 'failed') {
  console.error(
    `Sluice did not start, because its build failed. Fix this and start again:\n${result.message}`,
  );
  process.exit(1);
}
await import('../dist/main.js');

/**
 * npm passes SIGTERM on to the shell between itself and this process, and the shell dies of it without telling anybody.
 * A process that npm has started ends when that shell has gone.
 */
function endWithParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 200);
  timer.unref();
}

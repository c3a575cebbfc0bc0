// `npm start -- <args>`: the command line of Sluice from a checkout, built first when the sources have changed.
// It runs in this process, so that signals and exit codes are the server's own.
import { build } from './build.mjs';

const result = await build();
if (result.status === 'failed') {
  console.error(
    `Sluice did not start, because its build failed. Fix this and start again:\n${result.message}`,
  );
  process.exit(1);
}
await import('../dist/main.js');

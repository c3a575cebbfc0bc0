// `npm run screens`: a server with something on every view, and a picture of each in light and dark, wide and narrow,
// in docs/console/. `npm run screens -- uploads job` draws only those.
import { runVitest } from './steps.mjs';

const chosen = process.argv.slice(2);
const { ok } = await runVitest({
  name: 'pictures of the console',
  args: ['--project', 'browser', 'test/browser/screens.ts'],
  env: { SLUICE_SCREENS: chosen.join(',') },
});
process.exitCode = ok ? 0 : 1;

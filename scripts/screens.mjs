// `npm run screens`: takes a screenshot of every view of a filled server, in light and dark, wide and narrow,
// into docs/console/. `npm run screens -- uploads job` takes only those.
import { runVitest } from './steps.mjs';

const chosen = process.argv.slice(2);
const { ok } = await runVitest({
  name: 'pictures of the console',
  args: ['--project', 'browser', 'test/browser/screens.ts'],
  env: { SLUICE_SCREENS: chosen.join(',') },
});
process.exitCode = ok ? 0 : 1;

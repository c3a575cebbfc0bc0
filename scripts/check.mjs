// `npm run check`: everything that must be green before a commit.
import { printSummary, runCheck, runVitest, staticChecks } from './steps.mjs';

const results = [];
for (const check of staticChecks) results.push(await runCheck(check));
results.push(await runVitest({ name: 'tidy', args: ['--project', 'tidy'] }));
results.push(await runVitest({ name: 'unit tests', args: ['--project', 'unit', '--project', 'database'] }));

printSummary(results);
process.exitCode = results.every((result) => result.ok) ? 0 : 1;

// The worker of the built program with nothing to do: one cycle after the other, as a cron would run them.
import { createWorkerApp } from '../../dist/modules/app.js';
import { configSecrets, loadConfig } from '../../dist/modules/config.js';
import { createLogger } from '../../dist/modules/lib/log.js';
import { SecretScrubber } from '../../dist/modules/lib/secret-scrubber.js';
import { settings, untilGo } from './protocol.mjs';

const budgetMs = 10_000;

process.env.DATABASE_URL = settings.ownerUrl;
process.env.SLUICE_DATA_DIR = settings.dataDir;
process.env.LOG_LEVEL = 'error';
const { config } = await loadConfig({ flags: {} });
const scrubber = new SecretScrubber(configSecrets(config));
const logger = createLogger({ level: config.logLevel, scrubber });
const app = await createWorkerApp({ config, logger, scrubber }, { isIdle: true });
await untilGo();
for (let cycle = 0; cycle < settings.cycles; cycle += 1) await app.cycle(budgetMs);
process.send({ is: 'handled', count: settings.cycles });
// Stays alive until the runner has read its memory from /proc.

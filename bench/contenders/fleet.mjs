// Many workers of the built program in one process, each with its own connections and its own place in the fleet.
import { createWorkerApp } from '../../dist/modules/app.js';
import { configSecrets, loadConfig } from '../../dist/modules/config.js';
import { createLogger } from '../../dist/modules/lib/log.js';
import { SecretScrubber } from '../../dist/modules/lib/secret-scrubber.js';
import { inFlight, numbersTo } from '../harness/in-flight.mjs';
import { settings, untilGo } from './protocol.mjs';

const startsAtOnce = 4;

process.setMaxListeners(0);
process.env.DATABASE_URL = settings.ownerUrl;
// One connection for tenants, one for the kernel; the worker's own one comes on top.
process.env.DATABASE_POOL_SIZE = '2';
process.env.SLUICE_AUTO_MIGRATE = 'false';
process.env.SLUICE_DATA_DIR = settings.dataDir;
process.env.LOG_LEVEL = 'error';
const { config } = await loadConfig({ flags: {} });
const scrubber = new SecretScrubber(configSecrets(config));
const logger = createLogger({ level: config.logLevel, scrubber });
await inFlight(startsAtOnce, numbersTo(settings.count), () =>
  createWorkerApp({ config, logger, scrubber }, { isIdle: false }),
);
await untilGo();

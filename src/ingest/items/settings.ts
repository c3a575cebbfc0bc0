import { bytes, fraction, milliseconds, wholeNumber, yesOrNo } from '../../lib/settings/setting-kinds.ts';
import { type SettingsCheck, type SettingValues, setting } from '../../lib/settings/settings.ts';

const mebibyte = 1024 * 1024;

/** Bounds, not constants: the controllers move inside them. */
export const itemSettings = {
  globalPendingEnabled: setting('GLOBAL_PENDING_ENABLED', yesOrNo(), {
    default: true,
    describe: 'Whether GET /api/pending shows open rows over all jobs.',
  }),
  maxOpenItems: setting('MAX_OPEN_ITEMS', wholeNumber({ min: 1, max: 1_000_000_000 }), {
    default: 20_000_000,
    describe:
      'How many open rows a tenant may have before new files are refused, unless its limit open_items differs.',
  }),
  ingestMinRows: setting('INGEST_MIN_ROWS', wholeNumber({ min: 1, max: 100_000 }), {
    default: 64,
    describe: 'The fewest rows that one insert of an ingest carries.',
  }),
  ingestMaxRows: setting('INGEST_MAX_ROWS', wholeNumber({ min: 1, max: 100_000 }), {
    default: 5_000,
    describe: 'The most rows that one insert of an ingest carries; not below INGEST_MIN_ROWS.',
  }),
  ingestMaxBatchBytes: setting('INGEST_MAX_BATCH_BYTES', bytes({ min: 1024, max: 256 * mebibyte }), {
    default: 4 * mebibyte,
    describe: 'The most bytes that one insert of an ingest carries.',
  }),
  dbP50Ms: setting('DB_P50_MS', milliseconds({ min: 1, max: 60_000 }), {
    default: 50,
    describe: 'What an insert of an ingest should take.',
  }),
  dbP95Ms: setting('DB_P95_MS', milliseconds({ min: 1, max: 600_000 }), {
    default: 250,
    describe: 'Above this an ingest shrinks its inserts at once.',
  }),
  targetSliceMs: setting('WORKER_TARGET_SLICE_MS', milliseconds({ min: 50, max: 600_000 }), {
    default: 5_000,
    describe: 'How long a slice of items should take.',
  }),
  claimMin: setting('CLAIM_MIN', wholeNumber({ min: 1, max: 100_000 }), {
    default: 1,
    describe: 'The fewest items that are claimed at once.',
  }),
  claimMax: setting('CLAIM_MAX', wholeNumber({ min: 1, max: 100_000 }), {
    default: 1_000,
    describe: 'The most items that are claimed at once; not below CLAIM_MIN.',
  }),
  safetyFactor: setting('SAFETY_FACTOR', fraction({ min: 0.05, max: 1 }), {
    default: 0.7,
    describe: 'The share of a slice that is planned for.',
  }),
  lockFloorMs: setting('LOCK_FLOOR_MS', milliseconds({ min: 500, max: 3_600_000 }), {
    default: 10_000,
    describe: 'The shortest time for which a worker locks its items.',
  }),
  lockCapMs: setting('LOCK_CAP_MS', milliseconds({ min: 500, max: 86_400_000 }), {
    default: 300_000,
    describe: 'The longest time for which a worker locks its items; not below LOCK_FLOOR_MS.',
  }),
  maxAttemptsError: setting('MAX_ATTEMPTS_ERROR', wholeNumber({ min: 1, max: 1_000 }), {
    default: 5,
    describe: 'How often an item that fails is tried.',
  }),
  maxAttemptsNotFound: setting('MAX_ATTEMPTS_NOT_FOUND', wholeNumber({ min: 1, max: 1_000 }), {
    default: 2,
    describe: 'How often an item that was not found is tried, each time in the next way.',
  }),
  maxAttemptsThrottled: setting('MAX_ATTEMPTS_THROTTLED', wholeNumber({ min: 1, max: 1_000 }), {
    default: 15,
    describe: 'How often an item is tried whose provider answers that it gets too many calls (429).',
  }),
};

export const itemChecks: SettingsCheck<SettingValues<typeof itemSettings>>[] = [
  ({ ingestMinRows, ingestMaxRows }) =>
    ingestMinRows <= ingestMaxRows
      ? null
      : `INGEST_MIN_ROWS is ${ingestMinRows} and INGEST_MAX_ROWS is ${ingestMaxRows}. ` +
        'Allowed: a minimum up to the maximum.',
  ({ claimMin, claimMax }) =>
    claimMin <= claimMax
      ? null
      : `CLAIM_MIN is ${claimMin} and CLAIM_MAX is ${claimMax}. Allowed: a minimum up to the maximum.`,
  ({ lockFloorMs, lockCapMs }) =>
    lockFloorMs <= lockCapMs
      ? null
      : `LOCK_FLOOR_MS is ${lockFloorMs} and LOCK_CAP_MS is ${lockCapMs}. Allowed: a floor up to the cap.`,
];

/** What docs/configuration.md says of the config file's `processors`. */
export const processorsPage = `The file can also bring processors of your own (\`examples/\` has one).
Every machine that runs a server or a worker needs the same file:

\`\`\`js
// sluice.config.mjs
import { defineProcessor } from 'sluice';

const shout = defineProcessor({
  name: 'shout',
  isPure: true,
  processItem: ({ input }) => ({ status: 'DONE', result: { text: String(input.text).toUpperCase() } }),
});
export default { processors: [shout] };
\`\`\``;

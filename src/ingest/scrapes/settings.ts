import { bytes, milliseconds, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

const mebibyte = 1024 * 1024;

export const scrapeSettings = {
  handoffMaxAttempts: setting('HANDOFF_MAX_ATTEMPTS', wholeNumber({ min: 1, max: 10 }), {
    default: 3,
    describe:
      'How often a sync tries to hand over a reference before the hand-off fails. Only transient errors are retried.',
  }),
  handoffRetryBaseMs: setting('HANDOFF_RETRY_BASE_MS', milliseconds({ min: 0, max: 10_000 }), {
    default: 0,
    describe:
      'The delay before the first retry; each further delay is twice as long. The sync request waits meanwhile.',
  }),
  scrapeMaxReferences: setting('SCRAPE_MAX_REFERENCES', wholeNumber({ min: 1, max: 50_000 }), {
    default: 5_000,
    describe: 'How many references one sync may contain.',
  }),
  scrapeMaxBodyBytes: setting('SCRAPE_MAX_BODY_BYTES', bytes({ min: 1024, max: 256 * mebibyte }), {
    default: 32 * mebibyte,
    describe: 'The largest body of one sync request.',
  }),
  scrapeMaxSources: setting('SCRAPE_MAX_SOURCES', wholeNumber({ min: 1, max: 100_000 }), {
    default: 1_000,
    describe: 'How many scrape sources a tenant may have.',
  }),
  scrapeSliceMs: setting('SCRAPE_SLICE_MS', milliseconds({ min: 100, max: 600_000 }), {
    default: 10_000,
    describe: 'How long a crawl works before other jobs get their turn.',
  }),
};

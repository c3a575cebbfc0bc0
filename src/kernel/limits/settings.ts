import { wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

/** What one tenant may take of one process, so that its neighbours keep their share. */
export const limitSettings = {
  slowBodySeconds: setting('SLOW_BODY_SECONDS', wholeNumber({ min: 1, max: 3_600, unit: 'seconds' }), {
    default: 30,
    describe:
      'Over how long the speed of an arriving body is measured, and how long a body without data may take.',
  }),
  slowBodyBytesPerSecond: setting(
    'SLOW_BODY_BYTES_PER_SECOND',
    wholeNumber({ min: 1, max: 1_000_000_000, unit: 'bytes' }),
    { default: 1_024, describe: 'A body that arrives more slowly than this is cut off with 408.' },
  ),
  tenantRequestsPerMinute: setting('TENANT_REQUESTS_PER_MINUTE', wholeNumber({ min: 1, max: 100_000_000 }), {
    default: 24_000,
    describe: 'Requests that all keys and users of one tenant together may make to one process per minute.',
  }),
  tenantStreams: setting('TENANT_STREAMS', wholeNumber({ min: 1, max: 1_000 }), {
    default: 100,
    describe: 'Live event streams that one tenant may have open at one process, of 1,000 altogether.',
  }),
  tenantConcurrentSearches: setting('TENANT_CONCURRENT_SEARCHES', wholeNumber({ min: 1, max: 1_000 }), {
    default: 8,
    describe: 'Searches and catalogue matches of one tenant that one process runs at once; more wait.',
  }),
  tenantConcurrentUploads: setting('TENANT_CONCURRENT_UPLOADS', wholeNumber({ min: 1, max: 1_000 }), {
    default: 4,
    describe: 'Files of one tenant that one process receives at once; more wait.',
  }),
  tenantConcurrentParses: setting('TENANT_CONCURRENT_PARSES', wholeNumber({ min: 1, max: 256 }), {
    default: 4,
    describe: 'Files of one tenant that one process parses at once for requests; more wait.',
  }),
};

import { fraction, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

export const pullSettings = {
  uploadSourceMaxCount: setting('UPLOAD_SOURCE_MAX_COUNT', wholeNumber({ min: 1, max: 10_000 }), {
    default: 200,
    describe: 'How many sources that reports are pulled from a tenant may have.',
  }),
  pullRetryBaseSeconds: setting('PULL_RETRY_BASE_SECONDS', fraction({ min: 0, max: 3_600 }), {
    default: 60,
    describe: 'The first delay before a failed pull is tried again; each further one is twice as long.',
  }),
  pullPollSeconds: setting('PULL_POLL_SECONDS', fraction({ min: 0.1, max: 3_600 }), {
    default: 10,
    describe:
      'How often Sluice looks at a report that a platform prepares, and the time after which a file of an FTP ' +
      'directory must be unchanged.',
  }),
};

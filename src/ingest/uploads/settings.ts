import { text, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

const mebibyte = 1024 * 1024;

export const uploadSettings = {
  maxReportBytes: setting({
    env: 'MAX_REPORT_BYTES',
    ...wholeNumber({ min: 1024, max: 10 * 1024 * mebibyte, unit: 'bytes' }),
    default: 50 * mebibyte,
    describe: 'The largest ad report that POST /api/uploads accepts.',
  }),
  stagingRetentionDays: setting({
    env: 'STAGING_RETENTION_DAYS',
    ...wholeNumber({ min: 1, max: 365, unit: 'days' }),
    default: 7,
    describe: 'How long staged rows of uploads are kept.',
  }),
  uploadWatchFolder: setting({
    env: 'UPLOAD_WATCH_FOLDER',
    ...text({ max: 4_000 }),
    default: null,
    describe:
      'Reports dropped here as tenant/workspace_id/platform/file are uploaded. Unset: no folder is watched.',
  }),
  uploadSliceMs: setting({
    env: 'UPLOAD_SLICE_MS',
    ...wholeNumber({ min: 50, max: 600_000, unit: 'milliseconds' }),
    default: 5_000,
    describe: 'How long a slice of an upload may take before other jobs get their turn.',
  }),
};

import { bytes, days, milliseconds, text, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';
import { plausibilityChecks } from './reports/lines/plausibility.ts';

const mebibyte = 1024 * 1024;

export const uploadSettings = {
  maxReportBytes: setting('MAX_REPORT_BYTES', bytes({ min: 1024, max: 10 * 1024 * mebibyte }), {
    default: 50 * mebibyte,
    describe: 'The largest ad report that POST /api/uploads accepts.',
  }),
  maxUnfoldedReportBytes: setting(
    'MAX_UNFOLDED_REPORT_BYTES',
    bytes({ min: 1024, max: 100 * 1024 * mebibyte }),
    {
      default: 512 * mebibyte,
      describe:
        'How large all reports in one XLSX, gzip or ZIP file may become together when they are unpacked.',
    },
  ),
  maxArchiveReports: setting('MAX_ARCHIVE_REPORTS', wholeNumber({ min: 1, max: 1_000 }), {
    default: 100,
    describe: 'How many reports one ZIP archive may hold; each becomes an upload.',
  }),
  stagingRetentionDays: setting('STAGING_RETENTION_DAYS', days({ min: 1, max: 365 }), {
    default: 7,
    describe: 'How long staged rows of uploads are kept.',
  }),
  uploadWatchFolder: setting('UPLOAD_WATCH_FOLDER', text({ max: 4_000 }), {
    describe:
      'Reports dropped here as tenant/workspace_id/platform/file are uploaded. Unset: no folder is watched.',
  }),
  promotionBatchRows: setting('PROMOTION_BATCH_ROWS', wholeNumber({ min: 1, max: 100_000 }), {
    default: 1_000,
    describe: 'How many staged rows one transaction promotes.',
  }),
  plausibilityChecks: setting('PLAUSIBILITY_CHECKS', text({ max: 1_000 }), {
    default: plausibilityChecks.join(','),
    describe:
      'Which oddities of reports cause a warning, separated by commas; the default is all of them, and "none" is none.',
  }),
  plausibilityHistoryDays: setting('PLAUSIBILITY_HISTORY_DAYS', days({ min: 14, max: 730 }), {
    default: 90,
    describe:
      'How many days before a report the spend of its account is compared with, by the check `spend_outlier`.',
  }),
  uploadSliceMs: setting('UPLOAD_SLICE_MS', milliseconds({ min: 50, max: 600_000 }), {
    default: 5_000,
    describe: 'How long a slice of an upload may take before other jobs get their turn.',
  }),
};

import type { Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';
import type { PromotionFigures } from './promotion/end-store.ts';
import type { StagingFigures } from './staging/staging.ts';

export class UploadMetrics {
  readonly rows;
  readonly uploads;
  readonly retries;

  constructor(registry: Registry) {
    const { counter } = metricsOf(registry);
    this.rows = counter('sluice_upload_rows_total', 'Rows of reports, by outcome', ['platform', 'outcome']);
    this.uploads = counter('sluice_uploads_total', 'Finished uploads, by final status', [
      'platform',
      'status',
    ]);
    this.retries = counter(
      'sluice_upload_retries_total',
      'Retried transactions of uploads, by class of the retry table',
      ['class'],
    );
  }

  parsed(platform: string, { validRows, invalidRows }: StagingFigures): void {
    this.rows.inc({ platform, outcome: 'valid' }, validRows);
    this.rows.inc({ platform, outcome: 'invalid' }, invalidRows);
  }

  promoted(platform: string, { promotedRows, failedRows }: PromotionFigures): void {
    this.rows.inc({ platform, outcome: 'promoted' }, promotedRows);
    this.rows.inc({ platform, outcome: 'failed' }, failedRows);
  }

  ended(platform: string, status: string): void {
    this.uploads.inc({ platform, status });
  }
}

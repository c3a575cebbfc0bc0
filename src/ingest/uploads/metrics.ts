import { Counter, type Registry } from 'prom-client';
import type { PromotionFigures } from './promotion/end-store.ts';
import type { StagingFigures } from './staging/staging.ts';

export class UploadMetrics {
  readonly rows;
  readonly uploads;
  readonly retries;

  constructor(registry: Registry) {
    const registers = [registry];
    this.rows = new Counter({
      name: 'sluice_upload_rows_total',
      help: 'Rows of reports, by outcome',
      labelNames: ['platform', 'outcome'],
      registers,
    });
    this.uploads = new Counter({
      name: 'sluice_uploads_total',
      help: 'Finished uploads, by final status',
      labelNames: ['platform', 'status'],
      registers,
    });
    this.retries = new Counter({
      name: 'sluice_upload_retries_total',
      help: 'Retried transactions of uploads, by class of the retry table',
      labelNames: ['class'],
      registers,
    });
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

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import {
  openUploadHouse,
  type UploadHouse,
  type UploadHouseOptions,
} from '../../../src/ingest/uploads/open.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import { Workbooks } from '../../../src/kernel/files/workbooks.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { idleKernel } from './kernel.ts';

export function testUploadHouse(db: Database, options: Partial<UploadHouseOptions> = {}): UploadHouse {
  return openUploadHouse({
    db,
    kernel: options.kernel ?? idleKernel(db),
    files: options.files ?? temporaryFiles(),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    workbooks: new Workbooks({ perTenant: 4 }),
    maxReportBytes: 50 * 1024 * 1024,
    maxUnfoldedReportBytes: 512 * 1024 * 1024,
    maxArchiveReports: 100,
    stagingRetentionDays: 7,
    ingestFolder: null,
    uploadWatchFolder: null,
    uploadSliceMs: 5_000,
    promotionBatchRows: 1_000,
    plausibilityChecks: 'none',
    plausibilityHistoryDays: 90,
    ...options,
  });
}

function temporaryFiles() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-uploads-'));
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  return createFiles({ filesBackend: 'local', dataDir });
}

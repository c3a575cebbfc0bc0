import pino from 'pino';
import { Registry } from 'prom-client';
import { admitReferences, kbMadeAt } from '../../../src/ingest/knowledge/documents/reference-intake.ts';
import { readDocument } from '../../../src/ingest/knowledge/formats/read-document.ts';
import {
  openScrapeHouse,
  type ScrapeHouse,
  type ScrapeHouseOptions,
} from '../../../src/ingest/scrapes/open.ts';
import type { KnowledgeDoor } from '../../../src/ingest/scrapes/types.ts';
import { createGuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { idleKernel } from './kernel.ts';

/** As src/installation.ts hands it in. */
export const knowledgeDoor: KnowledgeDoor = {
  admit: admitReferences,
  madeAt: kbMadeAt,
  readPage: ({ isHtml, ...page }, signal) =>
    readDocument({ ...page, ...(isHtml ? { kind: 'html' } : {}) }, { signal }),
};

export function testScrapeHouse(db: Database, options: Partial<ScrapeHouseOptions> = {}): ScrapeHouse {
  return openScrapeHouse({
    db,
    kernel: options.kernel ?? idleKernel(db),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    // Test sites are on this machine.
    fetch: createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    knowledge: knowledgeDoor,
    handoffMaxAttempts: 3,
    handoffRetryBaseMs: 0,
    scrapeMaxReferences: 5_000,
    scrapeMaxBodyBytes: 32 * 1024 * 1024,
    scrapeMaxSources: 1_000,
    scrapeSliceMs: 5_000,
    jobRetentionDays: 90,
    ...options,
  });
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { ExactEngine } from '../../../src/ingest/knowledge/index/vector/exact.ts';
import {
  type KnowledgeHouse,
  type KnowledgeHouseOptions,
  openKnowledgeHouse,
} from '../../../src/ingest/knowledge/open.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import { CircuitBreakers } from '../../../src/kernel/limits/circuit-breaker.ts';
import { createGuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { idleKernel } from './kernel.ts';
import { noSecrets } from './secrets.ts';

export function testKnowledgeHouse(
  db: Database,
  options: Partial<KnowledgeHouseOptions> = {},
): KnowledgeHouse {
  const logger = pino({ level: 'silent' });
  return openKnowledgeHouse({
    db,
    kernel: options.kernel ?? idleKernel(db),
    files: options.files ?? temporaryFiles(),
    logger,
    registry: new Registry(),
    // Test sites are on this machine.
    fetch: options.fetch ?? createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    breakers: new CircuitBreakers({ db, logger }),
    secrets: noSecrets,
    engine: new ExactEngine({ cacheBytes: 64 * 1024 * 1024 }),
    countTokens: (text) => Math.ceil(text.length / 4),
    knowledgeFolderRoot: null,
    knowledgeMaxFileBytes: 10 * 1024 * 1024,
    knowledgeOcrCommand: 'off',
    knowledgeOcrLanguages: 'eng',
    knowledgeMaxBases: 1_000,
    knowledgeMaxSources: 100,
    knowledgeMaxFiles: 1_000,
    knowledgeSliceMs: 5_000,
    ...options,
  });
}

export function temporaryFiles() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-knowledge-'));
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  return createFiles({ filesBackend: 'local', dataDir });
}

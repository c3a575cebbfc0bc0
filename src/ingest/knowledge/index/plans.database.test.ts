import { beforeAll, expect, test } from 'vitest';
import { readingOf } from '../../../../test/support/probes/statement-reading.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { deleteLinks, deleteUnlinked, insertChunks, insertLinks, listPresent } from './chunk-store.ts';
import type { VisitKey } from './visit-store.ts';
import { listKnown, noteFailures, noteGone, noteUnchanged, saveDocuments } from './visit-store.ts';

// What the statements of a commit cost in a knowledge base of 20,000 documents that nobody has analysed yet: counted in
// rows that are read, not in time.
const database = useDatabase();
const size = 20_000;
let key: VisitKey;
let firstChunk = 0;
let documentIds: string[] = [];

beforeAll(async () => {
  const tenantId = await newTenant(database);
  key = { tenantId, kbId: 'large', generation: 1, sourceId: newId(), jobId: newId() };
  for (const table of ['knowledge_documents', 'embeddings_index', 'knowledge_links']) {
    await database.owner(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  await database.owner(
    `insert into knowledge_documents (tenant_id, kb_id, document_id, generation, source_id, uri, uri_key, title, state,
       content_hash, revision, chunk_count, created_by_job, last_job)
     select $1, 'large', gen_random_uuid(), 1, $2, 'doc ' || n, sha256(convert_to('doc ' || n, 'UTF8')), 'Title',
            'indexed', 'hash', 7, 1, $3, $3
       from generate_series(1, ${size}) n`,
    [tenantId, key.sourceId, newId()],
  );
  await database.owner(
    `insert into embeddings_index (tenant_id, kb_id, generation, content_hash, text, tokens, vector, created_by_job)
     select $1, 'large', 1, encode(sha256(convert_to('chunk ' || n, 'UTF8')), 'hex'), 'chunk ' || n, 2, '\\x00', $2
       from generate_series(1, ${size}) n`,
    [tenantId, newId()],
  );
  const chunks = await database.owner<{ chunk_id: string }>(
    'select min(chunk_id) as chunk_id from embeddings_index where tenant_id = $1',
    [tenantId],
  );
  firstChunk = Number(chunks[0]?.chunk_id);
  await database.owner(
    `insert into knowledge_links (tenant_id, kb_id, document_id, revision, ordinal, chunk_id, start_at, end_at, job_id)
     select $1, 'large', d.document_id, 7, 0, $2 + row_number() over (order by d.document_id) - 1, 0, 1, $3
       from knowledge_documents d where d.tenant_id = $1`,
    [tenantId, firstChunk, newId()],
  );
  const rows = await database.owner<{ document_id: string }>(
    'select document_id from knowledge_documents where tenant_id = $1 order by document_id limit 64',
    [tenantId],
  );
  documentIds = rows.map(({ document_id }) => document_id);
}, 60_000);

const uris = Array.from({ length: 64 }, (_, n) => `doc ${n * 300 + 1}`);
const hashes = () => Array.from({ length: 64 }, (_, n) => String(n).padStart(64, '0'));
const seen = uris.map((uri) => ({ uri, etag: null, lastModified: null }));
const revisions = () => documentIds.map((documentId) => ({ documentId, revision: 7 }));
const settled = uris.map((uri) => ({
  documentId: newId(),
  uri,
  title: 'Title',
  mediaType: null,
  state: 'indexed' as const,
  contentHash: null,
  etag: null,
  lastModified: null,
  revision: 8,
  chunkCount: 1,
  errorCode: null,
  errorText: null,
  notes: [],
  ownMetadata: {},
  ownAllow: null,
}));
const failed = uris.map((uri) => ({
  documentId: newId(),
  uri,
  title: 'T',
  errorCode: 'c',
  errorText: 't',
  ownMetadata: {},
  ownAllow: null,
}));
const made = () =>
  hashes().map((contentHash) => ({ contentHash, text: 'New', tokens: 1, vector: Buffer.from([0]) }));
const links = () =>
  documentIds.map((documentId, n) => {
    return {
      documentId,
      revision: 8,
      ordinal: 0,
      chunkId: firstChunk + n,
      headingPath: [],
      start: 0,
      end: 1,
    };
  });

const statements: [string, (tx: Tx) => Promise<unknown>][] = [
  ['looking documents up', (tx) => listKnown(tx, key, uris)],
  ['noting that they are unchanged', (tx) => noteUnchanged(tx, key, seen)],
  ['noting that they are gone', (tx) => noteGone(tx, key, uris)],
  ['noting that they failed', (tx) => noteFailures(tx, key, failed)],
  ['settling them', (tx) => saveDocuments(tx, key, settled)],
  ['looking chunks up', (tx) => listPresent(tx, key, hashes())],
  ['inserting chunks', (tx) => insertChunks(tx, key, made())],
  ['inserting links', (tx) => insertLinks(tx, key, links())],
  ['deleting links', (tx) => deleteLinks(tx, key, { revisions: revisions(), limit: 1_000 })],
  [
    'deleting chunks without links',
    (tx) =>
      deleteUnlinked(
        tx,
        key,
        links().map(({ chunkId }) => chunkId),
      ),
  ],
];

test.each(statements)(
  '%s reads what it is asked for and not the whole knowledge base',
  async (_name, work) => {
    const context = { role: 'sluice_tenant', tenantId: key.tenantId } as const;
    const { rows, scans } = await readingOf(database.db, { context, work });
    expect(rows, scans.join(', ')).toBeLessThanOrEqual(64 * 4);
  },
);

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createDatabase, queryOnce, withDatabase } from '../../../../test/support/fakes/postgres-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { newId } from '../../../lib/ids.ts';
import { Database } from '../../../lib/postgres/db.ts';
import { migrateUp } from '../../../lib/postgres/migrate.ts';
import { appUrlFor } from '../../../lib/postgres/roles.ts';
import { parseQuestion } from './question.ts';
import { listTextMatches } from './store.ts';

const superuserDatabase = useDatabase();
const index = { tenantId: 'tenant', kbId: 'kb', generation: 1 };
const chunkCount = 3_000;

/** A database whose owner is no superuser, as hosted ones are: forced policies hold for its functions too. */
function usePlainOwner() {
  const name = `test_${newId().replaceAll('-', '')}`;
  const role = `owner_${name.slice(-12)}`;
  const serverUrl = inject('serverUrl');
  const url = new URL(withDatabase(serverUrl, name));
  url.username = role;
  url.password = 'plain';
  let db: Database | undefined;
  beforeAll(async () => {
    await createDatabase(serverUrl, name);
    await queryOnce(serverUrl, `create role ${role} login createrole nosuperuser password 'plain'`);
    await queryOnce(serverUrl, `alter database ${name} owner to ${role}`);
    await migrateUp(url.href);
    const app = new URL(appUrlFor(serverUrl));
    app.pathname = `/${name}`;
    db = new Database({ url: app.href, applicationName: 'sluice-test', maxConnections: 2 });
  });
  afterAll(async () => {
    await db?.close();
    await queryOnce(serverUrl, `drop database if exists ${name} with (force)`);
    await queryOnce(serverUrl, `drop role if exists ${role}`);
  });
  return {
    get db(): Database {
      if (!db) throw new Error('The database is there only once beforeAll has run');
      return db;
    },
    superuserUrl: withDatabase(serverUrl, name),
  };
}

const plain = usePlainOwner();

describe.each([
  {
    owner: 'a superuser',
    database: () => superuserDatabase.db,
    url: () => superuserDatabase.ownerUrl,
  },
  { owner: 'an owner without any privilege', database: () => plain.db, url: () => plain.superuserUrl },
])('full-text search in a database of $owner', ({ database, url }) => {
  const search = (tenantId: string, query = 'zeppelin') =>
    database().tenant(tenantId, async (tx) => {
      const matches = await listTextMatches(tx, index, { question: parseQuestion(query), limit: 10 });
      // What the server has counted is known to others at the end of this transaction, and not some time later.
      await tx.rows({ text: 'select pg_stat_force_next_flush()', values: [] });
      return matches;
    });

  beforeAll(() => fill(url()));

  test('asks the index of words and does not read the whole knowledge base', async () => {
    const before = await indexReads(url());
    expect(await search('tenant')).toHaveLength(3);
    expect(await indexReads(url())).toBeGreaterThan(before);
  });

  test('is refused for another tenant than that of the transaction', async () => {
    await expect(search('another')).rejects.toThrow('another tenant');
  });

  test('is the only way past the policies: the chunks themselves stay hidden', async () => {
    const count = { text: 'select count(*) as count from embeddings_index', values: [] };
    const seen = await database().tenant('another', (tx) => tx.rows(count));
    expect(seen).toEqual([{ count: 0 }]);
  });
});

async function fill(url: string): Promise<void> {
  await queryOnce(url, `insert into tenants (tenant_id, name) values ('tenant', 'tenant')`);
  await queryOnce(
    url,
    `insert into knowledge_bases (tenant_id, kb_id, name, chunker, embedder, generation, created_by)
     values ('tenant', 'kb', 'kb', '{}', '{}', 1, 'test')`,
  );
  await queryOnce(
    url,
    `insert into knowledge_generations (tenant_id, kb_id, generation, fingerprint, dimensions, embedder, state,
                                        built_by_job)
     values ('tenant', 'kb', 1, 'test', 4, '{}', 'serving', gen_random_uuid())`,
  );
  await queryOnce(
    url,
    `insert into embeddings_index (tenant_id, kb_id, generation, content_hash, text, tokens, vector, created_by_job)
     select 'tenant', 'kb', 1, md5(n::text) || md5(n::text),
            case when n % 1000 = 0 then 'A zeppelin' else 'A passage ' || n end, 3, '\\x00', gen_random_uuid()
       from generate_series(1, ${chunkCount}) n`,
  );
  await queryOnce(url, 'vacuum analyze embeddings_index');
}

async function indexReads(url: string): Promise<number> {
  const rows = await queryOnce<{ reads: string }>(
    url,
    `select idx_scan as reads from pg_stat_user_indexes where indexrelname = 'embeddings_index_text_search'`,
  );
  return Number(rows[0]?.reads);
}

import type pg from 'pg';
import type { Database } from './db.ts';
import { type Migration, readSchemaState, type SchemaState } from './migrate.ts';

/** The state of the schema as the running program sees it, under the role that may read the bookkeeping. */
export function readSchemaStateOf(db: Database, migrations: Migration[]): Promise<SchemaState> {
  return db.kernel((tx) => readStateOn(tx.client, migrations));
}

/** The same for one connection of the owner or of the application login. */
export async function readSchemaStateAs(client: pg.Client, migrations: Migration[]): Promise<SchemaState> {
  const { rows } = await client.query<{ isReadable: boolean | null }>(
    `select has_table_privilege(to_regclass('public.schema_migrations'), 'select') as "isReadable"`,
  );
  if (rows[0]?.isReadable !== false) return readStateOn(client, migrations);
  await client.query('begin; set local role sluice_kernel');
  try {
    return await readStateOn(client, migrations);
  } finally {
    await client.query('rollback');
  }
}

/** A database that was never migrated has no bookkeeping yet: it is at version 0. */
async function readStateOn(client: pg.ClientBase, migrations: Migration[]): Promise<SchemaState> {
  const { rows } = await client.query<{ isThere: boolean }>(
    `select to_regclass('public.schema_migrations') is not null as "isThere"`,
  );
  if (!rows[0]?.isThere) return readSchemaState(async () => ({ rows: [] }), migrations);
  return readSchemaState((text) => client.query<{ version: number; state: string }>(text), migrations);
}

// Transactions that stay open beside a measurement.
import pg from 'pg';
import { endOnce } from './cleanup.mjs';

/** A reader that keeps its snapshot: rows that were changed since then cannot be vacuumed away. */
export function holdSnapshot(database) {
  return hold(database, ['begin isolation level repeatable read', 'select count(*) from tenants']);
}

/** A writer that has an id of its own: everything that comes later has to do with an older open transaction. */
export async function holdWrite(database) {
  await database.query('create table held (number integer)');
  return hold(database, ['begin', 'insert into held values (1)']);
}

/** Returns a function that ends it. */
async function hold(database, statements) {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  client.on('error', () => {});
  await client.connect();
  for (const statement of statements) await client.query(statement);
  return endOnce(async () => {
    await client.query('rollback').catch(() => {});
    await client.end().catch(() => {});
  });
}

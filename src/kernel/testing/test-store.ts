import type pg from 'pg';
import { quoteIdentifier } from '../../lib/postgres/sql.ts';

/** Any fixed number: tests of several processes make the template one after the other. */
const templateLock = 735_110_981;

export async function hasDatabase(client: pg.Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
  return rowCount === 1;
}

export async function holdTemplateLock(client: pg.Client): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [templateLock]);
}

export async function createFrom(
  client: pg.Client,
  { name, template }: { name: string; template: string },
): Promise<void> {
  await client.query(`create database ${quoteIdentifier(name)} template ${quoteIdentifier(template)}`);
}

export async function renameDatabase(
  client: pg.Client,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await client.query(`alter database ${quoteIdentifier(from)} rename to ${quoteIdentifier(to)}`);
}

export async function dropDatabase(client: pg.Client, name: string): Promise<void> {
  await client.query(`drop database if exists ${quoteIdentifier(name)} with (force)`);
}

/** For the database time has passed: what was to happen later is due that much sooner. */
export async function moveTime(client: pg.Client, ms: number): Promise<void> {
  await client.query(
    `update only ingestion_jobs j
        set run_at = j.run_at - $1 * interval '1 millisecond',
            next_retry_at = j.next_retry_at - $1 * interval '1 millisecond',
            not_before = j.not_before - $1 * interval '1 millisecond'
      where j.run_at < 'infinity'`,
    [ms],
  );
  await client.query(
    `update own_pipelines p
        set next_run_at = p.next_run_at - $1 * interval '1 millisecond'
      where p.next_run_at is not null`,
    [ms],
  );
}

/** How many jobs, or ticks of schedules, are due within this time. */
export async function countDue(client: pg.Client, withinMs: number): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select (select count(*)::int
               from only ingestion_jobs j
              where j.run_at <= clock_timestamp() + $1 * interval '1 millisecond'
                and (j.status in ('queued', 'running', 'failed') or j.cleanup_open))
          + (select count(*)::int
               from own_pipelines p
              where p.next_run_at <= clock_timestamp() + $1 * interval '1 millisecond') as count`,
    [withinMs],
  );
  return rows[0]?.count ?? 0;
}

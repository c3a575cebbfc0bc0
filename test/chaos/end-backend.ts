import type { TestDatabase } from '../support/worlds/database.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Ends one of the product's connections in PostgreSQL; false when there is none, or when it has just ended. */
export async function endRandomBackend({
  database,
  random,
}: {
  database: Pick<TestDatabase, 'owner'>;
  random: SeededRandom;
}): Promise<boolean> {
  const backends = await database.owner<{ pid: number }>(
    `select pid from pg_stat_activity
      where usename = 'sluice_app' and datname = current_database()
      order by backend_start`,
  );
  const backend = random.pick(backends);
  if (!backend) return false;
  const [row] = await database.owner<{ ended: boolean }>('select pg_terminate_backend($1) as ended', [
    backend.pid,
  ]);
  return row?.ended ?? false;
}

import type { Files } from '../kernel/files/types.ts';
import type { Database } from '../lib/postgres/db.ts';
import type { Migration } from '../lib/postgres/migrate.ts';
import { readSchemaStateOf } from '../lib/postgres/schema-state.ts';
import { rememberFor } from '../lib/timing/remember.ts';
import type { ReadyReport } from './health.ts';

export interface Readiness {
  isReady(): Promise<ReadyReport>;
  /** From now on the process is not ready: balancers stay away while it stops. */
  close(): void;
}

interface ReadinessDeps {
  db: Database;
  migrations: Migration[];
  files: Files;
}

export function watchReadiness(deps: ReadinessDeps): Readiness {
  let isStopping = false;
  const look = rememberFor(readinessMs, () => checkWork(deps));
  return {
    isReady: async () => withStopping(await look(), isStopping),
    close() {
      isStopping = true;
    },
  };
}

/** The probe is public and costs a file sync, so its result is kept for a second. */
const readinessMs = 1000;

/** Leaves details out, because the response is public; `sluice doctor` has them. */
async function checkWork(deps: ReadinessDeps): Promise<ReadyReport['checks']> {
  const schema = await readSchemaStateOf(deps.db, deps.migrations).catch(() => null);
  const stored = await deps.files.probe().then(
    () => true,
    () => false,
  );
  const usable = schema !== null && schema.missing.length === 0 && schema.unknown.length === 0;
  return {
    database: verdict(schema !== null, 'The database does not respond'),
    migrations: verdict(
      usable,
      schema === null ? 'Unknown without the database' : 'The schema is not the one of this version',
    ),
    storage: verdict(stored, 'Files cannot be written'),
  };
}

function withStopping(work: ReadyReport['checks'], isStopping: boolean): ReadyReport {
  const checks = isStopping ? { ...work, process: verdict(false, 'The process is stopping') } : work;
  return { ready: Object.values(checks).every((check) => check.state === 'ok'), checks };
}

function verdict(isOk: boolean, detail: string): ReadyReport['checks'][string] {
  return isOk ? { state: 'ok' } : { state: 'failed', detail };
}

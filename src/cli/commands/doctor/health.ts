import type pg from 'pg';
import { ok, type Verdict, warn } from '../../../kernel/house/verdict.ts';
import { listBloatedTables, listVacuumBlockers } from '../../../lib/postgres/health.ts';

import { listDrift, listOrphans } from './store.ts';

export async function checkDeadRows(client: pg.Client): Promise<Verdict> {
  const tables = await listBloatedTables(client);
  if (tables.length === 0) return ok('No table has many dead rows');
  const named = tables.map(
    ({ name, deadRows, liveRows }) => `${name} (${deadRows} dead, ${liveRows} living)`,
  );
  return warn(
    `Dead rows make these tables slow: ${named.join(', ')}`,
    `See the check "vacuum" first; then run: ${tables.map(({ name }) => `vacuum (analyze) ${name}`).join('; ')}`,
  );
}

export async function checkVacuum(client: pg.Client): Promise<Verdict> {
  const blockers = await listVacuumBlockers(client);
  if (blockers.length === 0) return ok('Nothing keeps vacuum from removing dead rows');
  const named = blockers.map(({ what, age }) => (age === null ? what : `${what} for ${Math.round(age)} s`));
  return warn(
    `Dead rows cannot be removed because of ${named.join(', and of ')}`,
    blockers.map(({ remedy }) => remedy).join('; '),
  );
}

export async function checkOrphans(client: pg.Client): Promise<Verdict> {
  const orphans = await listOrphans(client);
  if (orphans.length === 0) return ok('Every row has its owner');
  const named = orphans.map(
    ({ table, owners }) => `${table} (of ${owners} that ${owners === 1 ? 'is' : 'are'} gone)`,
  );
  return warn(
    `Rows are left whose job, upload, catalogue, knowledge base or source is gone: ${named.join(', ')}`,
    'A deletion may still be running: check again in an hour. What remains was left by hand or by a restore; ' +
      'docs/operating.md says under “Orphans and counters” how to delete it.',
  );
}

export async function checkCounters(client: pg.Client): Promise<Verdict> {
  const drift = await listDrift(client);
  if (drift.length === 0) return ok('Counters agree with the rows (newest jobs and catalogues)');
  const named = drift.map(({ what, stated, counted }) => `${what}: ${stated} stated, ${counted} counted`);
  return warn(
    `Counters differ from the rows: ${named.join('; ')}. The rows are right.`,
    'docs/operating.md says under “Orphans and counters” how to correct them.',
  );
}

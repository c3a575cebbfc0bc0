import type pg from 'pg';
import type { Config } from '../../../config.ts';
import type { Files } from '../../../kernel/files/types.ts';
import { failed, ok, type Verdict, warn } from '../../../kernel/house/verdict.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { listBloatedTables, listVacuumBlockers } from '../../../lib/postgres/health.ts';
import { listTenantTables, readLoginFacts, readServerFacts } from '../../../lib/postgres/inspection.ts';
import { readMigrations } from '../../../lib/postgres/migrate.ts';
import { groupRoles, tenantRoles } from '../../../lib/postgres/roles.ts';
import { readSchemaStateAs } from '../../../lib/postgres/schema-state.ts';
import { countUnboundSecrets, listDrift, listOrphans, readNewestEra } from './store.ts';

export interface Finding extends Verdict {
  check: string;
}

/** A check that throws has failed; the others still run. */
export async function runCheck(check: string, work: () => Promise<Verdict>): Promise<Finding> {
  try {
    return { check, ...(await work()) };
  } catch (error) {
    return { check, ...failed(messageOf(error), remedyFor(error)) };
  }
}

function remedyFor(error: unknown): string {
  if (isSluiceError(error)) {
    // Its general advice is to run this very command.
    if (error.code === 'database_unavailable') {
      return 'Start PostgreSQL, and check host and port in DATABASE_URL and whether this machine may connect to them.';
    }
    return error.definition.next;
  }
  // PostgreSQL's class 28: the login was refused.
  if (String((error as { code?: unknown }).code).startsWith('28')) {
    return (
      'Check user and password in DATABASE_URL, DATABASE_APP_URL and DATABASE_KERNEL_URL; `sluice migrate up` ' +
      'creates Sluice’s logins.'
    );
  }
  return 'Fix the cause that the message names, and run `sluice doctor` again.';
}

const oldestVersion = 150_000;

export async function checkServer(client: pg.Client): Promise<Verdict> {
  const { version, versionNumber, isReadOnly } = await readServerFacts(client);
  if (isReadOnly) {
    return failed(
      `PostgreSQL ${version} responds, but accepts no writes: it is a replica, or default_transaction_read_only is on`,
      'Let DATABASE_URL lead to the primary, or make this server accept writes; Sluice waits for that by itself.',
    );
  }
  if (versionNumber >= oldestVersion) return ok(`PostgreSQL ${version} responds`);
  return failed(
    `The server is PostgreSQL ${version}; Sluice needs 15 or newer`,
    'Upgrade the server, or unset DATABASE_URL to use the embedded database.',
  );
}

const clockLimitMs = 5000;

export async function checkClock(client: pg.Client): Promise<Verdict> {
  const { clockDifferenceMs } = await readServerFacts(client);
  if (Math.abs(clockDifferenceMs) < clockLimitMs) {
    return ok(`This machine and the database differ by ${Math.abs(clockDifferenceMs)} ms`);
  }
  return failed(
    `The database’s clock differs from this machine’s by ${clockDifferenceMs} ms; allowed is less than ${clockLimitMs}`,
    'Synchronise both machines’ clocks (chrony, systemd-timesyncd); tokens and schedules depend on them.',
  );
}

export async function checkMigrations(client: pg.Client): Promise<Verdict> {
  const state = await readSchemaStateAs(client, await readMigrations());
  if (state.unknown.length > 0) {
    return failed(
      `The schema has migration ${Math.max(...state.unknown)}; this Sluice knows up to ${state.needed}`,
      'Upgrade Sluice here to the version that migrated the database.',
    );
  }
  if (state.missing.length > 0) {
    return failed(
      `The schema is at version ${state.version}; missing: ${state.missing.join(', ')}`,
      'Run `sluice migrate up` with the owner’s DATABASE_URL.',
    );
  }
  if (state.downFeatures.length > 0) {
    return warn(
      `The schema is at version ${state.version}; removed features: ${state.downFeatures.join(', ')}`,
      'Add a feature again with `sluice migrate up --feature <name>`, or leave it.',
    );
  }
  return ok(`The schema is at version ${state.version}, which is the newest`);
}

/** `isOne`: an administrator made one login that works for tenants and across them. */
export async function checkAppLogin(client: pg.Client, isOne: boolean): Promise<Verdict> {
  if (isOne) {
    const verdict = await checkLogin(client, { roles: groupRoles, name: 'application login' });
    if (verdict.state !== 'ok') return verdict;
    return warn(
      'One login works for tenants and across them: SQL injected into one tenant’s request could reach others',
      'Create a second login as docs/operating.md says, and set DATABASE_KERNEL_URL.',
    );
  }
  const verdict = await checkLogin(client, { roles: tenantRoles, name: 'application login' });
  const { memberOf } = await readLoginFacts(client);
  if (verdict.state !== 'ok' || !memberOf.includes('sluice_kernel')) return verdict;
  return warn(
    'The application login may still act as the kernel, as an older version needed',
    'When no process of an older version runs any more, run `sluice migrate up` with the owner’s DATABASE_URL.',
  );
}

export function checkKernelLogin(client: pg.Client): Promise<Verdict> {
  return checkLogin(client, { roles: ['sluice_kernel'], name: 'kernel login' });
}

async function checkLogin(
  client: pg.Client,
  { roles, name }: { roles: readonly string[]; name: string },
): Promise<Verdict> {
  const facts = await readLoginFacts(client);
  const missing = roles.filter((role) => !facts.memberOf.includes(role));
  const faults = [
    facts.isSuperuser ? 'is a superuser' : '',
    facts.bypassesRowSecurity ? 'bypasses row-level security' : '',
    facts.inherits ? 'inherits the rights of its roles' : '',
    facts.ownedTables.length > 0 ? `owns tables (${facts.ownedTables.slice(0, 5).join(', ')})` : '',
    missing.length > 0 ? `is not a member of ${missing.join(', ')}` : '',
  ].filter((fault) => fault !== '');
  if (faults.length === 0) return ok(`The ${name} ${facts.login} has exactly the rights it should have`);
  return failed(
    `The ${name} ${facts.login} ${faults.join(', and it ')}`,
    'Set DATABASE_APP_URL and DATABASE_KERNEL_URL to logins created as docs/operating.md says, or unset both: then ' +
      'Sluice creates its own.',
  );
}

export async function checkRowSecurity(client: pg.Client): Promise<Verdict> {
  const tables = await listTenantTables(client);
  if (tables.length === 0) {
    return failed('There are no tenant tables', 'Run `sluice migrate up` with the owner’s DATABASE_URL.');
  }
  const open = tables.filter((table) => !table.isEnabled || !table.isForced || table.policies === 0);
  if (open.length === 0) return ok(`Row-level security is forced on all ${tables.length} tenant tables`);
  return failed(
    `Row-level security is not forced on ${open.map((table) => table.name).join(', ')}`,
    'Somebody changed these tables by hand: enable and force row-level security, policies as in schema.sql.',
  );
}

export async function checkStorage(files: Files, config: Config): Promise<Verdict> {
  if (files.backend === 's3') return checkBucket(files, config);
  try {
    await files.probe();
    return ok(`Files can be written and synced below ${config.dataDir}`);
  } catch (error) {
    return failed(
      `Files cannot be written below ${config.dataDir}: ${messageOf(error)}`,
      'Give the user that runs Sluice the right to write there, free some space, or set SLUICE_DATA_DIR.',
    );
  }
}

/** A failure carries its own remedy. */
async function checkBucket(files: Files, { s3Bucket, s3Prefix, s3Endpoint }: Config): Promise<Verdict> {
  await files.probe();
  const place = `${s3Bucket}/${s3Prefix ?? ''}${s3Endpoint === null ? '' : ` at ${s3Endpoint}`}`;
  return ok(`Files can be written, read, listed and deleted in ${place}`);
}

export async function checkSecrets(config: Config): Promise<Verdict> {
  if (config.jwtSecret !== null && Buffer.byteLength(config.jwtSecret) < 32) {
    return warn(
      'SLUICE_JWT_SECRET is shorter than 32 bytes',
      'Create a longer one, for example with `openssl rand -base64 32`.',
    );
  }
  if (config.databaseUrl !== null && config.jwtSecret === null && config.jwksUrl === null) {
    return warn(
      `The secret of tokens is only in ${config.dataDir}, though the database is shared`,
      'Set SLUICE_JWT_SECRET, so that every machine accepts the same tokens.',
    );
  }
  return ok('Tokens have a secret or public keys to be checked with');
}

export async function checkSecretHosts(client: pg.Client): Promise<Verdict> {
  const { secrets, tenants } = await countUnboundSecrets(client);
  if (secrets === 0) return ok('Every stored secret of a tenant names the hosts that it may be sent to');
  return warn(
    `Secrets without hosts, which cannot be used: ${secrets} (tenants: ${tenants})`,
    'An admin of each tenant replaces them under Settings, Secrets, or with PUT /api/secrets/{name}.',
  );
}

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

export async function checkEventLog(client: pg.Client): Promise<Verdict> {
  const era = await readNewestEra(client);
  if (!era) {
    return failed('The event log has no era', 'Run `sluice migrate up` with the owner’s DATABASE_URL.');
  }
  if (!era.isCurrent) {
    return warn(
      'The database was restored or recovered, or its standby was promoted, since events were written',
      'The next event begins a new era of the log: positions from before continue, lost ones are refused.',
    );
  }
  return ok(`The event log has counted as one since ${era.beganAt.toISOString()} (${era.reason})`);
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

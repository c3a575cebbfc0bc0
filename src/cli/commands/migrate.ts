import type { Command } from 'commander';
import { houses } from '../../houses.ts';
import { type Connections, prepareDatabase, resolveConnections } from '../../lib/postgres/connections.ts';
import { withConnection } from '../../lib/postgres/inspection.ts';
import {
  type MigrationReport,
  migrateDown,
  readMigrations,
  type SchemaState,
} from '../../lib/postgres/migrate.ts';
import { ensureRoles } from '../../lib/postgres/roles.ts';
import { readSchemaStateAs } from '../../lib/postgres/schema-state.ts';
import { exitCodes, UsageError } from '../terminal/exit.ts';
import { note, print, printJson, table } from '../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';

export function addMigrateCommand(program: Command): void {
  const migrate = program
    .command('migrate')
    .description('Change the database schema, or show its state. Needs the owner’s DATABASE_URL.');
  addUp(migrate);
  addDown(migrate);
  addStatus(migrate);
}

function addUp(migrate: Command): void {
  const up = migrate
    .command('up', { isDefault: true })
    .description(
      'Apply missing migrations. Optional features that were removed stay removed unless they are named.',
    )
    .option('--feature <name...>', 'optional features to add again')
    .option('--json', 'print the result as JSON');
  addSettingFlags(up, ['dataDir']).action(
    async (options: { feature?: string[]; json?: boolean }, command: Command) => {
      await withOwner(command, async (connections, ownerUrl) => {
        const report = await prepareDatabase(connections, {
          migrate: true,
          features: options.feature,
          onNotice: note,
        });
        // What depends on an extension that the server may lack is not a numbered migration.
        for (const house of houses) await house.prepare(ownerUrl, { onNotice: note });
        if (report) printReport(report, options.json);
      });
    },
  );
}

function addDown(migrate: Command): void {
  const down = migrate
    .command('down')
    .description('Revert the newest migration, everything above a version, or one optional feature.')
    .argument('[feature]', 'an optional feature; it stays removed until `migrate up --feature`')
    .option('--to <version>', 'the version to keep', parseVersion)
    .option('--json', 'print the result as JSON');
  addSettingFlags(down, ['dataDir']).action(
    async (feature: string | undefined, options: { to?: number; json?: boolean }, command: Command) => {
      if (feature !== undefined && options.to !== undefined) {
        throw new UsageError('`migrate down` takes a feature or --to, not both');
      }
      await withOwner(command, async (connections, ownerUrl) => {
        await ensureRoles(ownerUrl, connections);
        printReport(await migrateDown(ownerUrl, { to: options.to, feature }), options.json);
      });
    },
  );
}

function addStatus(migrate: Command): void {
  const status = migrate
    .command('status')
    .description(
      'Show the version of the schema and what is missing. Exits with 1 when it is not up to date.',
    )
    .option('--json', 'print the state as JSON');
  addSettingFlags(status, ['dataDir']).action(async (options: { json?: boolean }, command: Command) => {
    await withConnections(command, async (connections) => {
      const migrations = await readMigrations();
      const state = await withConnection(connections.ownerUrl ?? connections.kernelUrl, (client) =>
        readSchemaStateAs(client, migrations),
      );
      if (options.json) printJson(state);
      else printState(state);
      if (state.missing.length > 0 || state.unknown.length > 0) process.exitCode = exitCodes.failed;
    });
  });
}

async function withConnections(
  command: Command,
  work: (connections: Connections) => Promise<void>,
): Promise<void> {
  const { config } = await loadCommandConfig(command);
  const connections = await resolveConnections(config, { onNotice: note });
  try {
    await work(connections);
  } finally {
    await connections.leave();
  }
}

function withOwner(
  command: Command,
  work: (connections: Connections, ownerUrl: string) => Promise<void>,
): Promise<void> {
  return withConnections(command, async (connections) => {
    if (connections.ownerUrl === null) {
      throw new UsageError(
        'Migrations need the owner of the database: set DATABASE_URL beside DATABASE_APP_URL',
      );
    }
    await work(connections, connections.ownerUrl);
  });
}

function parseVersion(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new UsageError(`--to is "${text}". Allowed: a version from 0 to 9999.`);
  return Number(text);
}

function printReport(report: MigrationReport, json = false): void {
  if (json) {
    printJson(report);
    return;
  }
  for (const label of report.applied) note(`applied ${label}`);
  for (const label of report.reverted) note(`reverted ${label}`);
  print(`The schema is at version ${report.version}.`);
}

function printState(state: SchemaState): void {
  print(
    table([
      ['version', String(state.version)],
      ['needed', String(state.needed)],
      ['missing', state.missing.join(', ') || 'none'],
      ['unknown', state.unknown.join(', ') || 'none'],
      ['features removed', state.downFeatures.join(', ') || 'none'],
    ]),
  );
}

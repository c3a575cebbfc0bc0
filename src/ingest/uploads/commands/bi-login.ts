import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type pg from 'pg';
import { parseTenant, wholeNumber } from '../../../cli/terminal/arguments.ts';
import { CommandFailure, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../../../cli/terminal/setting-flags.ts';
import { withOwner } from '../../../lib/postgres/client.ts';
import { type Connections, resolveConnections } from '../../../lib/postgres/connections.ts';
import {
  createLogin,
  findLoginTenant,
  forbidLargeObjects,
  hasTenant,
  listLogins,
  removeLogin,
} from '../bi/login-store.ts';
import { scramVerifier } from '../bi/scram.ts';

interface BiLoginFlags {
  tenant?: string;
  description: string;
  connections: number;
  timeout: number;
  list?: boolean;
  remove?: string;
  json?: boolean;
}

const loginPattern = /^sluice_bi_[0-9a-f]{16}$/;

export function addBiLoginCommand(program: Command): void {
  const command = program
    .command('bi-login')
    .description(
      'Create a read-only PostgreSQL login for BI tools, which sees the figures of one tenant (schema sluice_bi). ' +
        'Prints its connection string once. Needs the owner’s DATABASE_URL.',
    )
    .option('--tenant <id>', 'whose figures it sees; with --list only logins of this tenant', parseTenant)
    .option('--description <text>', 'who or what uses it, for --list', '')
    .option(
      '--connections <n>',
      'how many it may have at once',
      wholeNumber('--connections', { min: 1, max: 100 }),
      5,
    )
    .option(
      '--timeout <seconds>',
      'how long a statement may take unless the session says otherwise',
      wholeNumber('--timeout', { min: 1, max: 86_400 }),
      60,
    )
    .option('--list', 'list the logins')
    .option('--remove <login>', 'remove a login, and end its connections')
    .option('--json', 'print the result as JSON');
  addSettingFlags(command, ['dataDir']).action(async (flags: BiLoginFlags, self: Command) => {
    refuseContradictions(flags);
    const { config } = await loadCommandConfig(self);
    const connections = await resolveConnections(config, { onNotice: note });
    try {
      const ownerUrl = ownerOf(connections);
      const publicUrl = config.databaseUrl ?? ownerUrl;
      await withOwner(ownerUrl, (client) => act(client, { flags, publicUrl }).catch(explainMissingSchema));
      if (connections.embedded !== null && !flags.list && flags.remove === undefined) {
        note(
          'The embedded database is reached on this machine only, through its Unix socket, while Sluice runs.',
        );
      }
    } finally {
      await connections.leave();
    }
  });
}

function refuseContradictions({ tenant, list, remove, description }: BiLoginFlags): void {
  if (list && remove !== undefined) throw new UsageError('Allowed: --list or --remove, not both.');
  if (!list && remove === undefined && tenant === undefined) {
    throw new UsageError(
      'Allowed: --tenant with the tenant that the login belongs to, --list, or --remove LOGIN.',
    );
  }
  if (remove !== undefined && !loginPattern.test(remove)) {
    throw new UsageError(
      `--remove is ${JSON.stringify(remove)}. Allowed: a login that \`sluice bi-login --list\` shows.`,
    );
  }
  if (description.length > 200) throw new UsageError('--description is too long. Allowed: 200 characters.');
}

function ownerOf({ ownerUrl }: Connections): string {
  if (ownerUrl !== null) return ownerUrl;
  throw new UsageError(
    'Logins are created by the owner of the database: set DATABASE_URL beside DATABASE_APP_URL.',
  );
}

interface Action {
  flags: BiLoginFlags;
  /** Where the login connects to. */
  publicUrl: string;
}

async function act(client: pg.Client, { flags, publicUrl }: Action): Promise<void> {
  if (flags.list) return showLogins(client, flags);
  if (flags.remove !== undefined) return remove(client, flags.remove, flags);
  return create(client, { flags, publicUrl });
}

async function create(client: pg.Client, { flags, publicUrl }: Action): Promise<void> {
  const tenantId = flags.tenant ?? '';
  if (!(await hasTenant(client, tenantId))) {
    throw new CommandFailure(`There is no tenant ${JSON.stringify(tenantId)}.`, {
      exitCode: exitCodes.failed,
      next: 'A tenant is created on the first use of a token: `sluice token --tenant …`, then call the API.',
    });
  }
  const login = `sluice_bi_${randomBytes(8).toString('hex')}`;
  const password = randomBytes(24).toString('hex');
  const { description, connections, timeout } = flags;
  const isClosed = await forbidLargeObjects(client);
  await createLogin(client, {
    tenantId,
    login,
    description,
    verifier: scramVerifier(password),
    connectionLimit: connections,
    timeoutSeconds: timeout,
  });
  const url = new URL(publicUrl);
  url.username = login;
  url.password = password;
  if (flags.json) printJson({ login, tenant_id: tenantId, url: url.href, schema: 'sluice_bi' });
  else print(url.href);
  note(
    'The connection string is shown only now; it cannot be read again. Views: schema sluice_bi (docs/data.md).',
  );
  if (!isClosed) {
    note(
      'The owner is no superuser, so it cannot forbid large objects: the login may create some. It reads and ' +
        'changes nothing of Sluice by that.',
    );
  }
}

async function showLogins(client: pg.Client, { tenant, json }: BiLoginFlags): Promise<void> {
  const logins = await listLogins(client, tenant);
  if (json) {
    printJson(
      logins.map((one) => ({
        login: one.login,
        tenant_id: one.tenantId,
        description: one.description,
        connection_limit: one.connectionLimit,
        created_at: one.createdAt.toISOString(),
      })),
    );
    return;
  }
  const rows = logins.map((one) => [
    one.login,
    one.tenantId,
    String(one.connectionLimit),
    one.createdAt.toISOString(),
    one.description,
  ]);
  print(table([['LOGIN', 'TENANT', 'CONNECTIONS', 'CREATED', 'DESCRIPTION'], ...rows]));
}

async function remove(client: pg.Client, login: string, { json }: BiLoginFlags): Promise<void> {
  const tenantId = await findLoginTenant(client, login);
  if (tenantId === null) {
    throw new CommandFailure(`There is no login ${login} in this database.`, {
      exitCode: exitCodes.failed,
      next: '`sluice bi-login --list` shows the logins.',
    });
  }
  await removeLogin(client, { login, tenantId });
  if (json) printJson({ removed: login });
  else note(`Removed ${login}; its connections were ended.`);
}

function explainMissingSchema(error: unknown): never {
  const { code } = error as { code?: string };
  if (code !== '42P01' && code !== '3F000') throw error;
  throw new CommandFailure('The database does not have the views for BI tools yet.', {
    exitCode: exitCodes.failed,
    next: 'Run `sluice migrate up`, or start the server once.',
    cause: error,
  });
}

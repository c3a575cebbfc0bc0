import { type Command, Option } from 'commander';
import type { Config } from '../../config.ts';
import { createLoginUrl, installationOperator } from '../../kernel/tenancy/login-links.ts';
import { findServerUrl } from '../../kernel/tenancy/login-place.ts';
import { type Role, roles } from '../../kernel/tenancy/types.ts';
import { resolveConnections } from '../../lib/postgres/connections.ts';
import { Database } from '../../lib/postgres/db.ts';
import { assertUsable, readMigrations } from '../../lib/postgres/migrate.ts';
import { readSchemaStateOf } from '../../lib/postgres/schema-state.ts';
import { systemClock } from '../../lib/timing/clock.ts';
import { parseTenant, parseUser } from '../terminal/arguments.ts';
import { CommandFailure, exitCodes } from '../terminal/exit.ts';
import { note, print } from '../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';

interface LoginOptions {
  tenant: string;
  role: Role;
  sub?: string;
}

export function addLoginCommand(program: Command): void {
  const { tenantId, role } = installationOperator;
  const login = program
    .command('login')
    .description(
      'Print a link that logs its holder in once. Needs the data directory or DATABASE_URL of a running server.',
    )
    .option('--tenant <id>', 'the tenant; it is created if it is new', parseTenant, tenantId)
    .addOption(new Option('--role <role>', 'what the session may do').choices(roles).default(role))
    .option('--sub <user>', 'the user (default: named like the role)', parseUser);
  addSettingFlags(login, ['url', 'dataDir']).action(async (options: LoginOptions, command: Command) => {
    const { config } = await loadCommandConfig(command);
    // Before the database: joining the embedded one would start it, only to stop it again.
    const url = await findServer(config);
    const { tenant, sub, role } = options;
    const subject = { tenantId: tenant, userId: sub ?? role, role };
    print(await withDatabase(config, (db) => createLoginUrl({ db, clock: systemClock }, { url, subject })));
    note(`Works once, within 30 minutes: ${role} of the tenant ${tenant}, as the user ${subject.userId}.`);
  });
}

const answerMs = 10_000;

/** The address for the link: the one that was named, or that of a server which answers on this machine. */
async function findServer(config: Config): Promise<string> {
  const named = config.url ?? config.publicUrl;
  if (named !== null) {
    const url = named.replace(/\/+$/, '');
    if (!(await isSluice(url))) note(`Warning: no Sluice server answers at ${url} from here.`);
    return url;
  }
  const last = await findServerUrl(config.dataDir);
  const local = config.port === 0 ? null : `http://127.0.0.1:${config.port}`;
  for (const url of [last, local]) if (url !== null && (await isSluice(url))) return url;
  throw new CommandFailure(
    `No Sluice server runs here (looked in ${config.dataDir}, and at ${local ?? last}).`,
    {
      exitCode: exitCodes.unreachable,
      next:
        'Start one with `sluice serve`, name its data directory with --data-dir, or its address (it prints it ' +
        'at start) with --url.',
      isPassing: true,
    },
  );
}

/** Whether something answers there as Sluice does. A link to anything else would hand it the code. */
async function isSluice(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(answerMs);
    const answer = await fetch(`${url}/health/live`, { signal, redirect: 'manual' });
    const { status, version } = (await answer.json()) as { status?: unknown; version?: unknown };
    return status === 'ok' && typeof version === 'string';
  } catch {
    // Refused, silent, or no JSON: whichever it is, no server is there to log in to.
    return false;
  }
}

async function withDatabase<Result>(
  config: Config,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const connections = await resolveConnections(config, { onNotice: note });
  try {
    const { appUrl: url, kernelUrl } = connections;
    const db = new Database({ url, kernelUrl, applicationName: 'sluice-login', maxConnections: 2 });
    try {
      assertUsable(await readSchemaStateOf(db, await readMigrations()));
      return await work(db);
    } finally {
      await db.close();
    }
  } finally {
    await connections.leave();
  }
}

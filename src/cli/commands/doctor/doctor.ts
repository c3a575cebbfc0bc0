import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../../config.ts';
import { houses } from '../../../houses.ts';
import { createFiles } from '../../../kernel/files/backends.ts';
import { ok, type Verdict, warn } from '../../../kernel/house/verdict.ts';
import { type Connections, resolveConnections } from '../../../lib/postgres/connections.ts';
import { withConnection } from '../../../lib/postgres/inspection.ts';
import { exitCodes } from '../../terminal/exit.ts';
import { colorsFor, note, print, printJson } from '../../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../../terminal/setting-flags.ts';
import {
  checkAppLogin,
  checkClock,
  checkCounters,
  checkDeadRows,
  checkEventLog,
  checkKernelLogin,
  checkMigrations,
  checkOrphans,
  checkRowSecurity,
  checkSecretHosts,
  checkSecrets,
  checkServer,
  checkStorage,
  checkVacuum,
  type Finding,
  runCheck,
} from './checks.ts';

export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .description('Check the installation and say how to fix what is wrong. Exits with 1 when a check failed.')
    .option('--json', 'print the findings as JSON');
  addSettingFlags(doctor, ['dataDir']).action(async (options: { json?: boolean }, command: Command) => {
    const findings = await examine(() => loadCommandConfig(command).then(({ config }) => config));
    if (options.json) printJson({ ok: !hasFailed(findings), findings });
    else for (const finding of findings) print(describeFinding(finding));
    if (hasFailed(findings)) process.exitCode = exitCodes.failed;
  });
}

/** Later checks need what earlier ones found: without configuration or database they are left out, not failed. */
async function examine(load: () => Promise<Config>): Promise<Finding[]> {
  let config: Config | undefined;
  const findings = [
    await runCheck('configuration', async () => {
      config = await load();
      return ok('Every setting is valid');
    }),
  ];
  if (!config) return findings;
  const known = config;
  if (isBeforeFirstStart(known)) return [...findings, notStarted(known)];
  findings.push(await runCheck('secrets', () => checkSecrets(known)));
  findings.push(await runCheck('storage', () => examineStorage(known)));
  findings.push(...(await examineDatabase(known)));
  return findings;
}

/** Examining an embedded database would create it first. */
function isBeforeFirstStart({ databaseUrl, dataDir }: Config): boolean {
  return databaseUrl === null && !existsSync(dataDir);
}

function notStarted({ dataDir }: Config): Finding {
  const remedy = 'Run `sluice`: it creates the embedded database there and starts the server.';
  return {
    check: 'database',
    ...warn(`Sluice has not been started here yet; ${dataDir} does not exist`, remedy),
  };
}

async function examineStorage(config: Config): Promise<Verdict> {
  const files = createFiles(config);
  try {
    return await checkStorage(files, config);
  } finally {
    await files.close();
  }
}

async function examineDatabase(config: Config): Promise<Finding[]> {
  let connections: Connections | undefined;
  const reached = await runCheck('database', async () => {
    connections = await resolveConnections(config, { onNotice: note });
    return withConnection(connections.ownerUrl ?? connections.kernelUrl, checkServer);
  });
  try {
    if (!connections || reached.state === 'failed') return [reached];
    const { kernelUrl } = connections;
    const ownerUrl = connections.ownerUrl ?? kernelUrl;
    const migrations = await runCheck('migrations', () => withConnection(ownerUrl, checkMigrations));
    return [
      reached,
      migrations,
      ...(await examineLogins(connections)),
      await runCheck('row-level security', () => withConnection(ownerUrl, checkRowSecurity)),
      ...(await examineHouses(ownerUrl, config)),
      await runCheck('clock', () => withConnection(ownerUrl, checkClock)),
      await runCheck('dead rows', () => withConnection(ownerUrl, checkDeadRows)),
      await runCheck('vacuum', () => withConnection(ownerUrl, checkVacuum)),
      // They read tables that exist only in a complete schema.
      ...(migrations.state === 'failed' ? [] : await examineRows(kernelUrl)),
    ];
  } finally {
    await connections?.leave();
  }
}

async function examineLogins({ appUrl, kernelUrl }: Connections): Promise<Finding[]> {
  const isOne = appUrl === kernelUrl;
  return [
    await runCheck('roles', () => withConnection(appUrl, (client) => checkAppLogin(client, isOne))),
    ...(isOne ? [] : [await runCheck('kernel roles', () => withConnection(kernelUrl, checkKernelLogin))]),
  ];
}

async function examineHouses(ownerUrl: string, config: Config): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, run } of houses.flatMap((house) => house.doctorChecks)) {
    findings.push(await runCheck(name, () => withConnection(ownerUrl, (client) => run(client, config))));
  }
  return findings;
}

async function examineRows(kernelUrl: string): Promise<Finding[]> {
  return [
    await runCheck('event log', () => withConnection(kernelUrl, checkEventLog)),
    await runCheck('orphans', () => withConnection(kernelUrl, checkOrphans)),
    await runCheck('counters', () => withConnection(kernelUrl, checkCounters)),
    await runCheck('secret hosts', () => withConnection(kernelUrl, checkSecretHosts)),
  ];
}

function hasFailed(findings: Finding[]): boolean {
  return findings.some((finding) => finding.state === 'failed');
}

function describeFinding({ check, state, message, remedy }: Finding): string {
  const colors = colorsFor(process.stdout);
  const paint = { ok: colors.green, warn: colors.yellow, failed: colors.red }[state];
  const line = `${paint(state.padEnd(6))} ${check.padEnd(18)} ${message}`;
  return remedy === '' ? line : `${line}\n${' '.repeat(26)}${remedy}`;
}

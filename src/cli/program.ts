import { Command, CommanderError } from 'commander';
import { houses } from '../houses.ts';
import type { CommandLoader } from '../kernel/house/house.ts';
import { nearestName } from '../lib/nearest-name.ts';
import { readVersion } from '../lib/version.ts';
import { exitCodeOf, exitCodes, explainError, UsageError } from './terminal/exit.ts';
import { colorsFor, note } from './terminal/output.ts';

/**
 * The commands of the installation, then those of the houses, in the order of the help. Only what is asked for is
 * loaded: `sluice jobs` need not wait for what a server needs.
 */
const commands: Record<string, CommandLoader> = Object.assign(
  {
    serve: async () => (await import('./commands/serve.ts')).addServeCommand,
    worker: async () => (await import('./commands/worker.ts')).addWorkerCommand,
    migrate: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
    jobs: async () => (await import('./commands/jobs/jobs.ts')).addJobsCommand,
    find: async () => (await import('./commands/find.ts')).addFindCommand,
    dlq: async () => (await import('./commands/dlq.ts')).addDeadLetterCommand,
    users: async () => (await import('./commands/tenant/users.ts')).addUsersCommand,
    keys: async () => (await import('./commands/tenant/keys.ts')).addKeysCommand,
    workspaces: async () => (await import('./commands/tenant/workspaces.ts')).addWorkspacesCommand,
    webhooks: async () => (await import('./commands/tenant/webhooks.ts')).addWebhooksCommand,
    login: async () => (await import('./commands/login.ts')).addLoginCommand,
    token: async () => (await import('./commands/token.ts')).addTokenCommand,
    config: async () => (await import('./commands/config.ts')).addConfigCommand,
    doctor: async () => (await import('./commands/doctor/doctor.ts')).addDoctorCommand,
    completion: async () => {
      const { addCompletionCommand } = await import('./commands/completion.ts');
      return (program: Command) => addCompletionCommand(program, () => buildProgram(['--help']));
    },
  },
  ...houses.map((house) => house.commands),
);

/** Runs one command and leaves its exit code on the process; a server keeps running after this returns. */
export async function runCommandLine(args: string[]): Promise<void> {
  // A reader that went away (`sluice config | head -1`) is not our failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    refuseUnknownCommand(args[0]);
    const program = await buildProgram(args);
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    const code = exitCodeOf(error);
    // Commander has already said what is wrong and what is allowed.
    if (!(error instanceof CommanderError))
      note(`${colorsFor(process.stderr).red('sluice:')} ${explainError(error)}`);
    process.exitCode = code;
    // Signal handlers and open sockets of a start that failed must not keep the process alive.
    if (code !== exitCodes.ok) process.exit();
  }
}

/** Commander would pass an unknown word to the default command, which then complains about too many arguments. */
function refuseUnknownCommand(word: string | undefined): void {
  if (word === undefined || word.startsWith('-')) return;
  const names = [...Object.keys(commands), 'help'];
  if (names.includes(word)) return;
  const nearest = nearestName(word, names);
  const hint = nearest === null ? '' : ` Did you mean ${nearest}?`;
  throw new UsageError(`There is no command ${word}.${hint} Allowed: ${names.join(', ')}.`);
}

async function buildProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('sluice')
    .description('Takes other people’s data in. Without a command it starts the server.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help, or a command’s with `sluice <command> --help`')
    .showHelpAfterError('(see `sluice --help` for what is allowed)')
    .exitOverride()
    .addHelpText('after', footer);
  for (const name of namesToLoad(args)) {
    const addCommand = await commands[name]?.();
    addCommand?.(program);
  }
  return program;
}

/** Flags without a command are the server's; the help is about all commands. */
function namesToLoad(args: readonly string[]): string[] {
  const [word] = args;
  if (word !== undefined && Object.hasOwn(commands, word)) return [word];
  const isHelp = args.some((each) => ['help', '-h', '--help'].includes(each));
  return isHelp ? Object.keys(commands) : ['serve'];
}

const footer = `
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 some rows failed, 4 login refused,
5 unreachable, 130 interrupted. All settings: docs/configuration.md, or \`sluice config\`.`;

import { Command, CommanderError } from 'commander';
import { nearestName } from '../lib/nearest-name.ts';
import { readVersion } from '../lib/version.ts';
import { addConfigCommand } from './config.ts';
import { addDeadLetterCommand } from './dlq.ts';
import { addDoctorCommand } from './doctor.ts';
import { exitCodeOf, exitCodes, explainError, UsageError } from './exit.ts';
import { addIndexCommand } from './index-command.ts';
import { addItemsCommand } from './items.ts';
import { addJobsCommand } from './jobs.ts';
import { addMigrateCommand } from './migrate.ts';
import { colorsFor, note } from './output.ts';
import { addScrapeCommand } from './scrape.ts';
import { addSearchCommand } from './search.ts';
import { addServeCommand } from './serve.ts';
import { addSyncCommand } from './sync.ts';
import { addTokenCommand } from './token.ts';
import { addUploadCommand } from './upload.ts';
import { addWorkerCommand } from './worker.ts';

/** Runs one command and leaves its exit code on the process; a server keeps running after this returns. */
export async function runCommandLine(args: string[]): Promise<void> {
  // A reader that went away (`sluice config | head -1`) is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    const program = buildProgram();
    refuseUnknownCommand(program, args[0]);
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

/** Commander would hand an unknown word to the default command, which then complains about too many arguments. */
function refuseUnknownCommand(program: Command, word: string | undefined): void {
  if (word === undefined || word.startsWith('-')) return;
  const names = [...program.commands.map((command) => command.name()), 'help'];
  if (names.includes(word)) return;
  const nearest = nearestName(word, names);
  const hint = nearest === null ? '' : ` Did you mean ${nearest}?`;
  throw new UsageError(`There is no command ${word}.${hint} Allowed: ${names.join(', ')}.`);
}

function buildProgram(): Command {
  const program = new Command('sluice')
    .description('Takes other people’s data in. Without a command it starts the server.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help, or a command’s with `sluice <command> --help`')
    .showHelpAfterError('(see `sluice --help` for what is allowed)')
    .exitOverride()
    .addHelpText('after', footer);
  addServeCommand(program);
  addWorkerCommand(program);
  addMigrateCommand(program);
  addItemsCommand(program);
  addJobsCommand(program);
  addDeadLetterCommand(program);
  addTokenCommand(program);
  addConfigCommand(program);
  addDoctorCommand(program);
  addUploadCommand(program);
  addSyncCommand(program);
  addIndexCommand(program);
  addSearchCommand(program);
  addScrapeCommand(program);
  return program;
}

const footer = `
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 some rows failed, 4 login refused,
5 unreachable, 130 interrupted. All settings: docs/configuration.md, or \`sluice config\`.`;

import type { Command } from 'commander';
import { configSecrets } from '../../config.ts';
import { createLogger } from '../../lib/log.ts';
import { SecretScrubber } from '../../lib/secret-scrubber.ts';
import { UsageError } from '../terminal/exit.ts';
import { note, print } from '../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';
import { stopOnSignals } from '../terminal/signals.ts';

interface WorkerOptions {
  once?: boolean;
  budget: number;
}

export function addWorkerCommand(program: Command): void {
  const worker = program
    .command('worker')
    .description('Advance jobs, without a server. With --once: one cycle, then exit, for cron.')
    .option('--once', 'drain what is due, print {"queued_processed":N,"retry_processed":M} and exit')
    .option('--budget <seconds>', 'with --once: how long to run at most', parseBudget, 240);
  addSettingFlags(worker, ['dataDir', 'workerConcurrency', 'autoMigrate', 'logLevel']);
  worker.action(async (options: WorkerOptions, command: Command) => {
    const { config, definitions } = await loadCommandConfig(command);
    const scrubber = new SecretScrubber(configSecrets(config));
    const logger = createLogger({ level: config.logLevel, scrubber });
    const signals = stopOnSignals(logger);
    const isIdle = options.once === true;
    // Imported only here: commands that just call a server need not load one.
    const { createWorkerApp } = await import('../../app.ts');
    const app = await createWorkerApp({ config, logger, scrubber, definitions }, { isIdle });
    signals.stopWith(app.stop);
    if (!isIdle) {
      note(`Sluice worker ${app.workerId} is running, ${config.workerConcurrency} slices at a time`);
      return;
    }
    try {
      print(JSON.stringify(await app.cycle(options.budget * 1000)));
    } finally {
      await app.stop();
    }
    process.exit(0);
  });
}

const maxBudgetSeconds = 86_400;

function parseBudget(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= maxBudgetSeconds) return seconds;
  throw new UsageError(`--budget is "${text}". Allowed: whole seconds from 1 to ${maxBudgetSeconds}.`);
}

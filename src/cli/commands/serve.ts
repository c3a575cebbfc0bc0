import type { Command } from 'commander';
import { configSecrets } from '../../config.ts';
import { createLogger } from '../../lib/log.ts';
import { SecretScrubber } from '../../lib/secret-scrubber.ts';
import { bannerOf } from '../terminal/banner.ts';
import { print } from '../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';
import { stopOnSignals } from '../terminal/signals.ts';

export function addServeCommand(program: Command): void {
  const serve = program
    .command('serve', { isDefault: true })
    .description('Start the server, and a worker with it (the default command).');
  addSettingFlags(serve, [
    'port',
    'host',
    'dataDir',
    'worker',
    'workerConcurrency',
    'autoMigrate',
    'logLevel',
  ]);
  serve.action(async (_options: object, command: Command) => {
    const { config, sources, definitions } = await loadCommandConfig(command);
    const scrubber = new SecretScrubber(configSecrets(config));
    const logger = createLogger({ level: config.logLevel, scrubber });
    const signals = stopOnSignals(logger);
    // Imported only here: commands that just call a server need not load one.
    const { createApp } = await import('../../app.ts');
    const app = await createApp({
      config,
      portIsExplicit: sources.port.from !== 'default',
      logger,
      scrubber,
      definitions,
      showLoginLink: process.stdout.isTTY === true,
    });
    for (const line of bannerOf(app, config)) print(line);
    signals.stopWith(app.stop);
  });
}

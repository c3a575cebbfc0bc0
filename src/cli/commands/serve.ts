import type { Command } from 'commander';
import type { App } from '../../app.ts';
import { type Config, configSecrets } from '../../config.ts';
import { createLogger } from '../../lib/log.ts';
import { SecretScrubber } from '../../lib/secret-scrubber.ts';
import { readVersion } from '../../lib/version.ts';
import { print } from '../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';
import { stopOnSignals } from '../terminal/signals.ts';

export function addServeCommand(program: Command): void {
  const serve = program
    .command('serve', { isDefault: true })
    .description('Start the server, and a worker with it (the default command).')
    .option('--demo', 'fill a tenant with a demo of all five pipelines, and log in there');
  addSettingFlags(serve, [
    'port',
    'host',
    'dataDir',
    'worker',
    'workerConcurrency',
    'autoMigrate',
    'logLevel',
  ]);
  serve.action(async ({ demo = false }: { demo?: boolean }, command: Command) => {
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
      demo,
    });
    for (const line of bannerOf(app, config)) print(line);
    signals.stopWith(app.stop);
  });
}

/** What a person should know after the start, in at most eight lines. */
function bannerOf({ url, loginUrl, loginFile, database }: App, config: Config): string[] {
  return [
    `Sluice ${readVersion()} is running at ${url}`,
    `  log in    ${wayIn({ loginUrl, loginFile })}`,
    `  data      ${config.dataDir}`,
    `  database  ${database}`,
    `  worker    ${config.worker ? `in this process, ${config.workerConcurrency} slices at a time` : 'off'}`,
    '  stop      Ctrl+C, or SIGTERM',
    '  more      sluice --help',
  ];
}

function wayIn({ loginUrl, loginFile }: Pick<App, 'loginUrl' | 'loginFile'>): string {
  if (loginUrl !== null) return `${loginUrl} (once, within 30 minutes)`;
  if (loginFile !== null) return `with the link in ${loginFile} (once, within 30 minutes), or: sluice login`;
  return 'with a link: sluice login --help, or a token: sluice token --help';
}

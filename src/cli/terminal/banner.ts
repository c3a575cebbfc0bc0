import type { App } from '../../app.ts';
import type { Config } from '../../config.ts';
import { readVersion } from '../../lib/version.ts';

/** What a person should know after the start, in at most eight lines. */
export function bannerOf({ url, loginUrl, database }: App, config: Config): string[] {
  return [
    `Sluice ${readVersion()} is running at ${url}`,
    loginUrl === null
      ? '  log in    with a token: sluice token --help'
      : `  log in    ${loginUrl} (once, within 30 minutes)`,
    `  data      ${config.dataDir}`,
    `  database  ${database}`,
    `  worker    ${config.worker ? `in this process, ${config.workerConcurrency} slices at a time` : 'off'}`,
    '  stop      Ctrl+C, or SIGTERM',
    '  more      sluice --help',
  ];
}

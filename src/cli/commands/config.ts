import type { Command } from 'commander';
import { describeConfig, type SettingName, settings } from '../../config.ts';
import { print, printJson, table } from '../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';

export function addConfigCommand(program: Command): void {
  const config = program
    .command('config')
    .description('Print the values in effect and where each came from; secrets are masked.')
    .option('--json', 'print them as JSON');
  addSettingFlags(config, Object.keys(settings) as SettingName[]).action(
    async (options: { json?: boolean }, command: Command) => {
      const lines = describeConfig(await loadCommandConfig(command));
      if (options.json) {
        printJson(lines);
        return;
      }
      const rows = lines.map(({ variable, value, source }) => [
        variable,
        value === null ? '(not set)' : String(value),
        source,
      ]);
      print(table([['VARIABLE', 'VALUE', 'FROM'], ...rows]));
    },
  );
}

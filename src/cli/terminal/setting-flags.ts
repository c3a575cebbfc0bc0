import { type Command, Option } from 'commander';
import { type LoadedConfig, loadConfig, type SettingName, settings } from '../../config.ts';
import type { Setting } from '../../lib/settings/settings.ts';
import { note } from './output.ts';

/** Gives a command the flags of these settings; their text comes from the table of settings. */
export function addSettingFlags(command: Command, names: SettingName[]): Command {
  for (const name of names) {
    const { flag, describe, env } = settings[name] as Setting;
    if (flag === undefined) continue;
    command.addOption(new Option(flag, `${describe} [${env}]`));
    // A default can be stated explicitly: it wins over an environment variable that turns it off.
    if (flag.startsWith('--no-')) command.addOption(new Option(flag.replace('--no-', '--')).hideHelp());
  }
  return command;
}

/** The configuration in effect for a command, with what was typed on its command line. */
export async function loadCommandConfig(command: Command): Promise<LoadedConfig> {
  const loaded = await loadConfig({ flags: givenFlags(command) });
  for (const warning of loaded.warnings) note(`Warning: ${warning}`);
  return loaded;
}

/** Only what was typed: commander fills in defaults of its own (true for every `--no-…`). */
function givenFlags(command: Command): Partial<Record<SettingName, unknown>> {
  const given: Partial<Record<SettingName, unknown>> = {};
  for (const [name, entry] of Object.entries(settings) as [SettingName, Setting][]) {
    if (entry.flag === undefined) continue;
    const attribute = new Option(entry.flag).attributeName();
    if (command.getOptionValueSourceWithGlobals(attribute) === 'cli') {
      given[name] = command.optsWithGlobals()[attribute];
    }
  }
  return given;
}

import { houses } from './houses.ts';
import { type KernelConfig, kernelChecks, kernelSettings } from './kernel/settings.ts';
import { absolutePath } from './lib/settings/setting-kinds.ts';
import {
  type LoadedSettings,
  loadSettings,
  type Setting,
  type SettingsTable,
  secretValues,
} from './lib/settings/settings.ts';
import { maskValue } from './lib/settings/settings-masking.ts';

/** Every setting of Sluice. This is the only module that reads process.env; everything else gets its values. */
export const settings: typeof kernelSettings & SettingsTable = Object.assign(
  { ...kernelSettings },
  ...houses.map((house) => house.settings),
);
const checks = [...kernelChecks, ...houses.flatMap((house) => house.checks)];
/** What the config file may list, by name: processors, embedders. */
export const lists = houses.flatMap((house) => Object.entries(house.definitions));

export type Definitions = Record<string, readonly unknown[]>;
/** The values of all settings; a house reads its own through its definition. */
export type Config = KernelConfig;
export type ConfigSources = LoadedSettings<Config>['sources'];
export type SettingName = keyof typeof kernelSettings;

export interface LoadedConfig {
  config: Config;
  sources: ConfigSources;
  /** What the config file lists for houses, by the name of the list. */
  definitions: Definitions;
  warnings: string[];
}

/** Reads and validates everything once: flag > environment > `.env` > `sluice.config.{mjs,ts}` > default. */
export async function loadConfig(
  input: {
    flags?: Partial<Record<SettingName, unknown>>;
    env?: Record<string, string | undefined>;
    cwd?: string;
    readsFiles?: boolean;
  } = {},
): Promise<LoadedConfig> {
  const cwd = input.cwd ?? process.cwd();
  const { values, sources, extras, warnings } = await loadSettings(settings, {
    flags: input.flags ?? {},
    env: input.env ?? process.env,
    cwd,
    configName: 'sluice.config',
    readsFiles: input.readsFiles ?? true,
    prefix: 'SLUICE_',
    checks,
    extras: Object.fromEntries(lists.map(([name, { findProblems }]) => [name, findProblems])),
  });
  const definitions = Object.fromEntries(lists.map(([name]) => [name, (extras[name] ?? []) as unknown[]]));
  const config = { ...values, dataDir: absolutePath(values.dataDir, cwd) };
  return { config, sources, definitions, warnings };
}

/** The values that must be kept out of the logs. */
export function configSecrets(config: Config): string[] {
  const keys = config.secretKey?.split(',').map((key) => key.trim()) ?? [];
  return [...secretValues(settings, config), ...keys];
}

/** One line per setting, as `sluice config` prints them: secrets are masked. */
export function describeConfig({ config, sources }: { config: Config; sources: ConfigSources }) {
  return (Object.keys(settings) as SettingName[]).map((name) => {
    const entry = settings[name] as Setting;
    const value = config[name];
    const shown = entry.secret === undefined || value === null ? value : maskValue(entry, value);
    return { name, variable: entry.env, value: shown, source: sources[name].label };
  });
}

/** Colours are for terminals whose user did not refuse them (https://no-color.org). */
export function wantsColor(
  stream: { isTTY?: boolean },
  env: Record<string, string | undefined> = process.env,
): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
}

import { defineErrors, invalid } from '../errors.ts';
import type { Kind } from './setting-kinds.ts';
import { maskValue } from './settings-masking.ts';
import {
  type ConfigFileExtras,
  type GivenValue,
  readSettingSources,
  type SettingSource,
} from './settings-sources.ts';

/**
 * A program's settings as one table: each entry says its names, what is allowed, its default and what it is for.
 * Reading, validation, the masked listing and the documentation all come from the table, so that a new setting is
 * one entry.
 */
export interface Setting<T = unknown> extends Kind<T> {
  /** Name of the environment variable, also in `.env`. */
  env: string;
  /** As commander takes it, such as `--port <number>`; only settings that are typed by hand have one. */
  flag?: string;
  default: T | ComputedDefault<T>;
  describe: string;
  /** `whole`: never shown. `url`: shown without its password. Both may also be given as `<env>_FILE`. */
  secret?: 'whole' | 'url';
}

/** A default that depends on other settings; `text` says how, for the documentation. */
export interface ComputedDefault<T> {
  text: string;
  from: (values: Record<string, unknown>) => T;
}

export type SettingsTable = Record<string, Setting>;

export type SettingValues<Table> = {
  [Name in keyof Table]: Table[Name] extends Setting<infer T> ? T : never;
};

/** Valid values can still contradict each other: returns what is wrong, or null. */
export type SettingsCheck<Values> = (values: Values) => string | null;

export interface SettingsInput<Values> {
  flags: Record<string, unknown>;
  env: Record<string, string | undefined>;
  cwd: string;
  /** File name without ending, such as `sluice.config`. */
  configName: string;
  /** What this program's own variables start with; others of that beginning are taken for misspelt ones. */
  prefix: string;
  checks?: SettingsCheck<Values>[];
  extras?: ConfigFileExtras;
  /** False: neither `.env` nor the config file counts. */
  readsFiles?: boolean;
}

export interface LoadedSettings<Values> {
  values: Values;
  sources: Record<keyof Values & string, SettingSource>;
  /** What the config file has beside settings, checked. */
  extras: Record<string, unknown>;
  /** Variables that look like misspelt settings. They do not stop the program. */
  warnings: string[];
}

export const settingsErrors = defineErrors({
  configuration_invalid: invalid(
    'The configuration has problems',
    'Correct every value that is listed. All settings are in docs/configuration.md.',
  ),
});

type Details<T> = Omit<Setting<T>, 'env' | keyof Kind<T> | 'default'>;

/** An entry of the table. Without a default the setting is optional: null when it is not set. */
export function setting<T>(
  env: string,
  kind: Kind<T>,
  details: Details<T> & { default?: never },
): Setting<T | null>;
export function setting<T>(
  env: string,
  kind: Kind<T>,
  details: Details<T> & { default: NoInfer<T> | ComputedDefault<NoInfer<T>> },
): Setting<T>;
export function setting<T>(env: string, kind: Kind<T>, details: Details<T>): Setting<T | null> {
  return { default: null, env, ...kind, ...details };
}

/** Reads every source once and validates everything at once: one error lists all problems. */
export async function loadSettings<Table extends SettingsTable>(
  table: Table,
  input: SettingsInput<SettingValues<Table>>,
): Promise<LoadedSettings<SettingValues<Table>>> {
  const { given, extras, problems, warnings } = await readSettingSources(table, input);
  const values: Record<string, unknown> = {};
  const sources: Record<string, SettingSource> = {};
  for (const [name, entry] of Object.entries(table)) {
    const found = given.get(name);
    sources[name] = found?.source ?? { from: 'default', label: 'default' };
    if (!found) continue;
    const parsed = entry.schema.safeParse(found.value);
    if (parsed.success) values[name] = parsed.data;
    else problems.push(describeBadValue(entry, found));
  }
  if (problems.length > 0) throw invalidSettings(problems);
  fillDefaults(table, values);
  const complete = values as SettingValues<Table>;
  const contradictions = (input.checks ?? []).flatMap((check) => check(complete) ?? []);
  if (contradictions.length > 0) throw invalidSettings(contradictions);
  return {
    values: complete,
    sources: sources as LoadedSettings<SettingValues<Table>>['sources'],
    extras,
    warnings,
  };
}

function isComputed<T>(value: unknown): value is ComputedDefault<T> {
  return typeof value === 'object' && value !== null && 'from' in value && 'text' in value;
}

/** The secrets among the values, for a scrubber: whole values, and the passwords of URLs. */
export function secretValues(table: SettingsTable, values: Record<string, unknown>): string[] {
  const found: string[] = [];
  for (const [name, entry] of Object.entries(table)) {
    const value = values[name];
    if (entry.secret === undefined || typeof value !== 'string') continue;
    if (entry.secret === 'whole') found.push(value);
    else found.push(...passwordsOf(value));
  }
  return found;
}

function describeBadValue(entry: Setting, { value, name, source }: GivenValue): string {
  return `${name} is ${maskValue(entry, value)} (from ${source.label}). Allowed: ${entry.allowed}.`;
}

function invalidSettings(problems: string[]): Error {
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  const lines = problems.map((problem) => `  - ${problem}`);
  return settingsErrors.raise.configuration_invalid(`The configuration has ${count}:\n${lines.join('\n')}`, {
    details: { problems },
  });
}

/** Computed defaults come last, because they look at the others. */
function fillDefaults(table: SettingsTable, values: Record<string, unknown>): void {
  for (const [name, entry] of Object.entries(table)) {
    if (!(name in values) && !isComputed(entry.default)) values[name] = entry.default;
  }
  for (const [name, entry] of Object.entries(table)) {
    if (!(name in values) && isComputed(entry.default)) values[name] = entry.default.from(values);
  }
}

/** The passwords in a URL in both spellings: a driver's error may have the decoded one, a message the encoded one. */
export function passwordsOf(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const url = new URL(text);
  const inQuery = url.searchParams.get('password');
  const encoded = url.password;
  return [encoded, decodePercent(encoded), inQuery ?? ''].filter((password) => password !== '');
}

function decodePercent(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    // A lone percent sign is no encoding: then the text is its own decoded form.
    return encoded;
  }
}

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseEnv } from 'node:util';
import { messageOf } from '../errors.ts';
import { nearestName } from '../nearest-name.ts';

/** Where a setting's value came from; `label` completes "from …". */
export interface SettingSource {
  from: 'flag' | 'environment' | 'env-file' | 'config-file' | 'default';
  label: string;
}

export interface GivenValue {
  value: unknown;
  /** The name that the reader typed there: `PORT`, `--port` or `port`. */
  name: string;
  source: SettingSource;
}

interface NamedSetting {
  env: string;
  flag?: string;
  secret?: 'whole' | 'url';
}

export interface SourcesRead {
  given: Map<string, GivenValue>;
  /** What the config file has beside settings. */
  extras: Record<string, unknown>;
  problems: string[];
  warnings: string[];
}

/**
 * What a config file may hold besides settings, because no variable could hold it, such as functions: by its key, a
 * check that returns what is wrong with its value.
 */
export type ConfigFileExtras = Record<string, (value: unknown) => string[]>;

interface ConfigFileInput {
  cwd: string;
  configName: string;
  /** False: neither `.env` nor the config file counts, as where Sluice is part of another program. */
  readsFiles?: boolean;
  extras?: ConfigFileExtras;
}

/** Collects for each setting the value of the strongest source: flag, environment, `.env`, config file. */
export async function readSettingSources(
  table: Record<string, NamedSetting>,
  input: ConfigFileInput & {
    flags: Record<string, unknown>;
    env: Record<string, string | undefined>;
    prefix: string;
  },
): Promise<SourcesRead> {
  const read: SourcesRead = { given: new Map(), extras: {}, problems: [], warnings: [] };
  const { readsFiles = true } = input;
  if (readsFiles) await addConfigFile(table, input, read);
  const envFile = readsFiles ? await readEnvFile(path.join(input.cwd, '.env'), read) : {};
  const variables = [
    { from: 'env-file', label: '.env', values: envFile },
    { from: 'environment', label: 'the environment', values: input.env },
  ] as const;
  for (const origin of variables) {
    for (const [name, entry] of Object.entries(table)) {
      const found = await readVariable(entry, origin, { cwd: input.cwd, problems: read.problems });
      if (found) read.given.set(name, found);
    }
    read.warnings.push(...misspeltVariables(table, origin, input.prefix));
  }
  for (const [name, entry] of Object.entries(table)) {
    const value = input.flags[name];
    if (value === undefined) continue;
    const flag = entry.flag?.split(' ')[0] ?? name;
    read.given.set(name, { value, name: flag, source: { from: 'flag', label: 'the command line' } });
  }
  return read;
}

async function readEnvFile(file: string, read: SourcesRead): Promise<Record<string, string | undefined>> {
  try {
    return parseEnv(await readFile(file, 'utf8')) as Record<string, string | undefined>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    read.problems.push(`${file} cannot be read: ${messageOf(error)}. Make it readable, or remove it.`);
    return {};
  }
}

interface Origin {
  from: 'environment' | 'env-file';
  label: string;
  values: Record<string, string | undefined>;
}

/** An empty variable counts as not set: that is how compose files and CI systems spell "none". */
async function readVariable(
  entry: NamedSetting,
  origin: Origin,
  { cwd, problems }: { cwd: string; problems: string[] },
): Promise<GivenValue | null> {
  const direct = origin.values[entry.env] || undefined;
  const fileVariable = `${entry.env}_FILE`;
  const file = entry.secret === undefined ? undefined : origin.values[fileVariable] || undefined;
  if (direct !== undefined && file !== undefined) {
    problems.push(
      `${entry.env} and ${fileVariable} are both set (in ${origin.label}). Allowed: one of the two.`,
    );
    return null;
  }
  if (direct !== undefined) {
    return { value: direct, name: entry.env, source: { from: origin.from, label: origin.label } };
  }
  if (file === undefined) return null;
  try {
    const value = (await readFile(path.resolve(cwd, file), 'utf8')).trim();
    const label = `${fileVariable} in ${origin.label}`;
    return { value, name: entry.env, source: { from: origin.from, label } };
  } catch (error) {
    problems.push(
      `${fileVariable} is "${file}" (from ${origin.label}) and cannot be read: ${messageOf(error)}. ` +
        'Allowed: the path of a readable file that holds the secret.',
    );
    return null;
  }
}

/** Variables of other programs are ignored, but one that is almost ours causes a warning. */
function misspeltVariables(table: Record<string, NamedSetting>, origin: Origin, prefix: string): string[] {
  const known = Object.values(table).flatMap((entry) => [entry.env, `${entry.env}_FILE`]);
  const strangers = Object.keys(origin.values).filter(
    (name) => name.startsWith(prefix) && !known.includes(name),
  );
  return strangers.flatMap((name) => {
    const nearest = nearestName(name, known);
    return nearest ? [`${name} (in ${origin.label}) is not a setting. Did you mean ${nearest}?`] : [];
  });
}

async function addConfigFile(
  table: Record<string, NamedSetting>,
  { cwd, configName, extras = {} }: ConfigFileInput,
  read: SourcesRead,
): Promise<void> {
  const present = ['.mjs', '.ts']
    .map((ending) => configName + ending)
    .filter((name) => existsSync(path.join(cwd, name)));
  const [file, second] = present;
  if (file === undefined) return;
  if (second !== undefined) {
    read.problems.push(`${file} and ${second} are both there. Allowed: one of the two.`);
    return;
  }
  const exported = await importConfigFile(path.join(cwd, file), read.problems);
  const names = Object.keys(table);
  for (const [name, value] of Object.entries(exported)) {
    if (value === undefined || value === null) continue;
    if (names.includes(name)) {
      read.given.set(name, { value, name, source: { from: 'config-file', label: file } });
    } else if (Object.hasOwn(extras, name)) {
      read.extras[name] = value;
      const problems = extras[name]?.(value) ?? [];
      read.problems.push(...problems.map((problem) => `${name} (in ${file}): ${problem}.`));
    } else {
      const byVariable = names.find((known) => table[known]?.env === name);
      const nearest = byVariable ?? nearestName(name, [...names, ...Object.keys(extras)]);
      const hint = nearest ? `Did you mean ${nearest}?` : 'Allowed: the names in docs/configuration.md.';
      read.problems.push(`${name} (in ${file}) is not a setting. ${hint}`);
    }
  }
}

async function importConfigFile(file: string, problems: string[]): Promise<Record<string, unknown>> {
  const name = path.basename(file);
  if (file.endsWith('.ts') && !canLoadTypeScript()) {
    problems.push(
      `${name} cannot be read by Node ${process.versions.node}. Allowed: Node 22.18 or newer, ` +
        `or the same without types as ${name.replace(/\.ts$/, '.mjs')}.`,
    );
    return {};
  }
  try {
    const module = (await import(pathToFileURL(file).href)) as { default?: unknown };
    if (typeof module.default === 'object' && module.default !== null && !Array.isArray(module.default)) {
      return module.default as Record<string, unknown>;
    }
    problems.push(`${name} has no settings in it. Allowed: \`export default { port: 7400, … }\`.`);
  } catch (error) {
    problems.push(`${name} cannot be loaded: ${messageOf(error)}. Correct it, or remove it.`);
  }
  return {};
}

function canLoadTypeScript(): boolean {
  const { typescript } = process.features as { typescript?: unknown };
  return typeof typescript === 'string';
}

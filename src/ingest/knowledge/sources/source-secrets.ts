import type { LentSecret } from '../../../kernel/secrets/lent-secret.ts';
import type { SecretLender, SecretUse, SeesName, WantedSecret } from '../../../kernel/secrets/types.ts';
import { assertPlace } from '../../../lib/s3/place.ts';
import type { KnowledgeSource } from '../types.ts';
import { gitSettings } from './git.ts';
import { s3Settings } from './s3.ts';

type Configured = Pick<KnowledgeSource, 'type' | 'settings'>;

/** Who may add a source may use every secret, and runs act for whoever added it. */
const creatorRole = 'admin';

export function useOfSource({ type }: Pick<KnowledgeSource, 'type'>): SecretUse {
  return `source:${type}`;
}

/** The secrets that a source names, and the only address that they go to. */
export function secretsOfSource({ type, settings }: Configured): WantedSecret[] {
  const urls = [addressOf({ type, settings })].filter((url) => url !== null);
  return secretNames(settings).map(([field, name]) => ({ name, urls, pointer: `/${field}` }));
}

export async function lendForSource(
  secrets: Pick<SecretLender, 'lend'>,
  source: KnowledgeSource,
  name: string,
): Promise<LentSecret> {
  const { tenantId } = source;
  const lent = await secrets.lend({ tenantId, role: creatorRole, use: useOfSource(source) }, name);
  lent.assertMayGoTo(addressOf(source) ?? '');
  return lent;
}

/** The same settings without the names of secrets that a person may not see. */
export function settingsShownTo(sees: SeesName, settings: Record<string, unknown>): Record<string, unknown> {
  const hidden = secretNames(settings).filter(([, name]) => !sees(name));
  return { ...settings, ...Object.fromEntries(hidden.map(([field]) => [field, null])) };
}

function secretNames(settings: Record<string, unknown>): [field: string, name: string][] {
  return Object.entries(settings).flatMap(([field, value]): [string, string][] =>
    field.endsWith('_secret') && typeof value === 'string' ? [[field, value]] : [],
  );
}

function addressOf({ type, settings }: Configured): string | null {
  if (type === 'git') return gitSettings.parse(settings).url;
  if (type !== 's3') return null;
  const { path_style: pathStyle, ...place } = s3Settings.parse(settings);
  return assertPlace({ ...place, pathStyle }).origin;
}

import { nearestName } from '../../../../lib/nearest-name.ts';
import { headerKey, readHeaderName } from '../header-names.ts';
import {
  type AliasTable,
  type Language,
  languages,
  type PlatformDefinition,
  type ReportField,
  reportFields,
} from '../types.ts';

export interface AliasHit {
  field: ReportField;
  /** 0 is the best name of its field in its language. */
  rank: number;
  language: Language | 'any' | 'api';
  unit: 'plain' | 'micros';
}

export interface KnownHeader {
  hits: readonly AliasHit[];
  /** False when only the header without its last bracket is known. */
  isWhole: boolean;
  currency: string | null;
}

export type HeaderAliases = ReturnType<typeof headerAliases>;

export function headerAliases(definition: PlatformDefinition) {
  const byKey = new Map<string, AliasHit[]>();
  const micros = new Set(definition.micros.map(headerKey));
  const add = (table: AliasTable, language: AliasHit['language']) => {
    for (const { field, name, rank } of namesIn(table)) {
      const key = headerKey(name);
      const hits = byKey.get(key) ?? [];
      const isNew = !hits.some((hit) => hit.field === field && hit.language === language);
      if (isNew) hits.push({ field, rank, language, unit: micros.has(key) ? 'micros' : 'plain' });
      byKey.set(key, hits);
    }
  };
  for (const language of ['any', ...languages] as const) add(definition.aliases[language] ?? {}, language);
  add(definition.api, 'api');
  add(ownNames, 'api');
  const keys = [...byKey.keys()];
  const suggestions = new Map<string, ReportField | null>();
  const known = new Map<string, KnownHeader>();
  const find = (header: string): KnownHeader => {
    const { key, plainKey, currency } = readHeaderName(header);
    const whole = byKey.get(key);
    if (whole !== undefined) return { hits: whole, isWhole: true, currency };
    return { hits: (plainKey === null ? null : byKey.get(plainKey)) ?? [], isWhole: false, currency };
  };

  return {
    lookUp(header: string): KnownHeader {
      const remembered = known.get(header);
      if (remembered !== undefined) return remembered;
      const found = find(header);
      if (known.size < maxRemembered) known.set(header, found);
      return found;
    },
    /** Whether the platform's own exports have a column of this name; names of APIs and of our own do not count. */
    isExported: (header: string): boolean => find(header).hits.some(({ language }) => language !== 'api'),
    /** 0 when it is the name that the platform's own exports use; more for further names that are understood. */
    exportRank: (header: string): number =>
      Math.min(...find(header).hits.flatMap(({ language, rank }) => (language === 'api' ? [] : [rank]))),
    /** The field with the name most similar to an unknown header, or null. */
    suggest(header: string): ReportField | null {
      const key = withoutBracket(header);
      const known = suggestions.get(key);
      if (known !== undefined) return known;
      const nearest = byKey.has(key) ? key : nearestKey(key, keys);
      const field = nearest === null ? null : (byKey.get(nearest)?.[0]?.field ?? null);
      // A JSON file can have an unlimited number of paths.
      if (suggestions.size < maxRemembered) suggestions.set(key, field);
      return field;
    },
    /** The header that is most similar to a name of the field, or null. */
    nearestTo(field: ReportField, headers: readonly string[]): string | null {
      const names = keys.filter((key) => byKey.get(key)?.some((hit) => hit.field === field));
      return headers.find((header) => nearestKey(withoutBracket(header), names) !== null) ?? null;
    },
  };
}

/** Every profile also understands the canonical names, which other programs write. */
const ownNames: AliasTable = {
  ...Object.fromEntries(reportFields.map((field) => [field, [field]])),
  metric_date: ['metric_date', 'date', 'day'],
  campaign_name: ['campaign_name', 'campaign'],
  ad_set_id: ['ad_set_id', 'adset_id', 'ad_group_id'],
  ad_set_name: ['ad_set_name', 'adset_name', 'ad_group_name', 'adset', 'ad_group'],
  ad_set_status: ['ad_set_status', 'adset_status', 'ad_group_status'],
  spend: ['spend', 'cost', 'amount_spent'],
  conversion_value: ['conversion_value', 'conversions_value'],
  currency: ['currency', 'currency_code'],
};

const maxRemembered = 5_000;

/** Very short headers are similar to everything, so they get no suggestion. */
function nearestKey(key: string, keys: string[]): string | null {
  if (key.length < 3 || key.length > maxSuggestedLength) return null;
  const reach = Math.max(1, Math.floor(key.length / 4));
  return nearestName(
    key,
    keys.filter(({ length }) => Math.abs(length - key.length) <= reach),
  );
}

const maxSuggestedLength = 80;

function* namesIn(table: AliasTable): Generator<{ field: ReportField; name: string; rank: number }> {
  for (const field of reportFields) {
    const names = table[field] ?? [];
    for (const [rank, name] of names.entries()) yield { field, name, rank };
  }
}

function withoutBracket(header: string): string {
  if (header.length > 4 * maxSuggestedLength) return '';
  return headerKey(header.normalize('NFKC').replace(/[([][^()[\]]*[)\]]\s*$/u, ''));
}

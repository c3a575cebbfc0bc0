import { z } from 'zod';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { headerKey } from '../reports/header-names.ts';
import {
  type AliasTable,
  additiveFields,
  type Language,
  languages,
  type PlatformDefinition,
  type ReportField,
  reportFields,
} from '../reports/types.ts';

export const platformName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{1,39}$/, 'must be 2 to 40 lower-case letters, digits, - and _, a letter first');

const name = storedText(200).min(1);
const names = z
  .union([z.array(name).min(1).max(50), storedText(2_000).min(1)])
  .transform((given) => (typeof given === 'string' ? given.split('|') : given))
  .describe('Names of the column, best first; or one text with | between them');

const table = z.partialRecord(z.enum(reportFields), names);
const byLanguage = z.partialRecord(z.enum([...languages, 'any']), table);
const list = z.array(name).max(500).default([]);

/** The form of a profile; `aliases` by field, or by language and then by field. */
export const profileSchema = z.strictObject({
  title: storedText(100).min(1).optional().describe('What people call it; by default its name'),
  notes: storedText(2_000).default('').describe('For people: what its figures mean'),
  aliases: z
    .union([byLanguage, table])
    .describe('Column names of its reports: field to names, or language to field to names'),
  api: table.default({}).describe('Paths of members in its JSON, such as metrics.cost'),
  micros: list.describe('Of these, amounts in millionths of the currency'),
  marks: list.describe('Columns that are not read and that only its reports have'),
  dimensions: list.describe('Columns that its reports are broken down by'),
  blank_names_are_totals: z.boolean().default(false).describe('A row without any name or id is a total'),
  total_labels: list.describe('Labels of total rows, besides the usual ones'),
  decimal_mark: z.enum(['.', ',']).nullable().default(null).describe('Null: the file decides'),
  date_order: z.enum(['dmy', 'mdy']).nullable().default(null).describe('Null: the file decides'),
  daily_advice: storedText(500).default('Export the report by day.').describe('How to get a report by day'),
});
export type ProfileInput = z.output<typeof profileSchema>;

export function definitionOf(platform: string, given: ProfileInput): PlatformDefinition {
  const { title = platform, aliases, ...rest } = given;
  return { ...rest, platform, title, aliases: byLanguageOf(aliases) };
}

type Aliases = PlatformDefinition['aliases'];

function byLanguageOf(aliases: ProfileInput['aliases']): Aliases {
  const isFlat = Object.keys(aliases).some((key) => (reportFields as readonly string[]).includes(key));
  return isFlat ? { any: aliases as AliasTable } : (aliases as Aliases);
}

const entityFields: readonly ReportField[] = [
  ...(['campaign_name', 'campaign_id', 'ad_set_name', 'ad_set_id', 'ad_name', 'ad_id'] as const),
];

/** What is wrong with a profile as a whole, with the place in it; empty when it can be used. */
export function problemsOf({ aliases, api }: PlatformDefinition): { pointer: string; message: string }[] {
  const problems: { pointer: string; message: string }[] = [];
  const tables = Object.entries(aliases) as [Language | 'any', AliasTable][];
  const fields = new Set([...tables.map(([, one]) => one), api].flatMap((one) => Object.keys(one)));
  const has = (wanted: readonly string[]) => wanted.some((field) => fields.has(field));
  if (!has(entityFields)) {
    problems.push({
      pointer: '/aliases',
      message: `must name a column for one of ${entityFields.join(', ')}`,
    });
  }
  if (!has(additiveFields)) {
    problems.push({
      pointer: '/aliases',
      message: `must name a column for one of ${additiveFields.join(', ')}`,
    });
  }
  for (const [language, one] of tables) problems.push(...doublesIn(language, one));
  return problems;
}

/** A column can be read as one field only. */
function doublesIn(language: string, one: AliasTable): { pointer: string; message: string }[] {
  const seen = new Map<string, string>();
  const doubles: { pointer: string; message: string }[] = [];
  for (const [field, names = []] of Object.entries(one)) {
    for (const alias of names) {
      const key = headerKey(alias);
      const other = seen.get(key);
      const pointer = `/aliases/${language === 'any' ? '' : `${language}/`}${field}`;
      if (key === '')
        doubles.push({ pointer, message: `has a name without letters: ${JSON.stringify(alias)}` });
      else if (other !== undefined && other !== field) {
        doubles.push({
          pointer,
          message: `has ${JSON.stringify(alias)}, which is a name of ${other} already`,
        });
      }
      seen.set(key, field);
    }
  }
  return doubles;
}

import { areRejectedRecords } from '../lines/rejected-rows.ts';
import {
  type FieldColumn,
  type HeaderMapping,
  type Language,
  languages,
  type MapOptions,
  type MappedColumns,
  type MappingNote,
  type Platform,
  type ReportField,
  reportFields,
} from '../types.ts';
import type { AliasHit, HeaderAliases, KnownHeader } from './aliases.ts';

export interface MappingTask extends MapOptions {
  platform: Platform;
  aliases: HeaderAliases;
  headers: readonly string[];
}

/** Decides which column each field is read from: a person's choice first, then the best name of the field. */
export function mapHeaders({ platform, aliases, headers, mapping, format }: MappingTask): MappedColumns {
  const isJson = format === 'json' || areRejectedRecords(headers);
  const known = headers.map((header) => aliases.lookUp(header));
  const spoken = spokenLanguages(known);
  const notes: MappingNote[] = [];
  const candidates = headers.flatMap((header, index): Candidate[] => {
    const chosen = chosenField(mapping, header);
    if (chosen === null) return [];
    const entry = known[index] ?? { hits: [], isWhole: false, currency: null };
    return candidateOf({ header, index, entry, chosen, spoken, isJson, notes });
  });
  const fields: MappedColumns['fields'] = {};
  for (const field of reportFields) {
    const columns = columnsFor({ field, candidates, isJson, notes });
    if (columns.length > 0)
      fields[field] = columns.map(({ index, header, unit }) => ({ index, header, unit }));
  }
  const isUnused = (header: string, index: number) =>
    header.trim() !== '' &&
    chosenField(mapping, header) !== null &&
    !candidates.some((candidate) => candidate.index === index);
  return {
    platform,
    format: isJson ? 'json' : 'delimited',
    headers: [...headers],
    fields,
    currency: headerCurrency(fields, known),
    unmapped: headers
      .flatMap((header, index) => (isUnused(header, index) ? [{ index, header }] : []))
      .map((column, at) => ({
        ...column,
        suggestion: at < maxSuggestions ? aliases.suggest(column.header) : null,
      })),
    notes,
    languages: spoken,
  };
}

// Comparing with every name takes time, and nobody reads more suggestions.
const maxSuggestions = 200;

/** Undefined when the person did not map this header; null when it is to be left out. */
export function chosenField(mapping: HeaderMapping | undefined, header: string) {
  if (mapping === undefined) return undefined;
  if (Object.hasOwn(mapping, header)) return mapping[header];
  const trimmed = header.trim();
  return Object.hasOwn(mapping, trimmed) ? mapping[trimmed] : undefined;
}

interface Candidate extends FieldColumn {
  field: ReportField;
  /** Lower is better; a person's choice ranks before every alias. */
  rank: number;
}

interface CandidateTask {
  header: string;
  index: number;
  entry: KnownHeader;
  chosen: ReportField | undefined;
  spoken: Language[];
  isJson: boolean;
  notes: MappingNote[];
}

function candidateOf({ header, index, entry, chosen, spoken, isJson, notes }: CandidateTask): Candidate[] {
  if (chosen !== undefined) {
    const unit = entry.hits.find((hit) => hit.field === chosen)?.unit ?? 'plain';
    return [{ index, header, unit, field: chosen, rank: -1 }];
  }
  const rankOf = (hit: AliasHit) => hit.rank + ((hit.language === 'api') === isJson ? 0 : otherFormat);
  const isSpoken = (hit: AliasHit) =>
    hit.language === 'api' ? isJson : hit.language === 'any' || spoken.includes(hit.language);
  const [best, ...others] = [...entry.hits].sort(
    (a, b) => Number(isSpoken(b)) - Number(isSpoken(a)) || rankOf(a) - rankOf(b),
  );
  if (best === undefined) return [];
  const rival = others.find((hit) => hit.field !== best.field && isSpoken(hit) === isSpoken(best));
  if (rival !== undefined && !isJson) {
    notes.push({
      code: 'ambiguous_header',
      message:
        `Column "${header}" can mean ${best.field} or ${rival.field}; it is read as ${best.field}. ` +
        'Map it if that is wrong.',
    });
  }
  // The best rank in any language, or the same header would rank differently in two of them.
  const rank = Math.min(...entry.hits.filter((hit) => hit.field === best.field).map(rankOf));
  return [{ index, header, unit: best.unit, field: best.field, rank: rank + (entry.isWhole ? 0 : 0.5) }];
}

/** API names count in a downloaded file too, but rank after the names of downloads. */
const otherFormat = 100;

interface FieldTask {
  field: ReportField;
  candidates: Candidate[];
  isJson: boolean;
  notes: MappingNote[];
}

/**
 * In a table one column is used, and columns with the same name fill in where it is empty. In JSON all columns count,
 * best first: records leave out empty values, and the meaning of a record must not depend on the records before it.
 */
function columnsFor({ field, candidates, isJson, notes }: FieldTask): Candidate[] {
  const all = candidates.filter((candidate) => candidate.field === field);
  const chosen = all.filter(({ rank }) => rank === -1);
  const sorted = (chosen.length > 0 ? chosen : all).sort((a, b) => a.rank - b.rank || a.index - b.index);
  const [best] = sorted;
  if (best === undefined || (isJson && chosen.length === 0)) return sorted;
  const doubles = sorted.filter(({ header }) => header.trim() === best.header.trim());
  if (doubles.length > 1) {
    notes.push({
      code: 'duplicate_header',
      message:
        `${doubles.length} columns are called "${best.header}"; the first is used for ${field}, ` +
        'the others only where it is empty.',
    });
  }
  for (const other of sorted) {
    if (doubles.includes(other)) continue;
    notes.push({
      code: other.rank === -1 ? 'mapped_twice' : 'passed_over',
      message: `Column "${other.header}" is left out, because "${best.header}" is already used for ${field}.`,
    });
  }
  return doubles;
}

/** The languages that know the most headers; several when they tie. */
function spokenLanguages(known: readonly KnownHeader[]): Language[] {
  const counts = new Map<Language, number>();
  for (const { hits } of known) {
    const inThis = new Set(hits.map(({ language }) => language));
    for (const language of inThis) {
      if (language !== 'api' && language !== 'any') counts.set(language, (counts.get(language) ?? 0) + 1);
    }
  }
  const most = Math.max(0, ...counts.values());
  return most === 0 ? [] : languages.filter((language) => counts.get(language) === most);
}

function headerCurrency(fields: MappedColumns['fields'], known: readonly KnownHeader[]): string | null {
  for (const field of ['spend', 'conversion_value'] as const) {
    const index = fields[field]?.[0]?.index;
    const currency = index === undefined ? null : (known[index]?.currency ?? null);
    if (currency !== null) return currency;
  }
  const all = new Set(known.flatMap(({ currency }) => (currency === null ? [] : [currency])));
  const [only = null] = all;
  return all.size === 1 ? only : null;
}

import type { Upload } from '../../api/types.ts';
import { isReportField, type ReportField } from './report-fields.ts';

/** What a person decided about columns: a field, or null to leave the column out. */
export type Mapping = Record<string, ReportField | null>;

export interface ColumnChoice {
  header: string;
  samples: string[];
  /** The field of the column; null: it is not read. */
  field: ReportField | null;
  /** By a person, by its name, or not at all. */
  by: 'choice' | 'name' | null;
  isRemembered: boolean;
  /** A suggestion while nobody has decided. */
  suggestion: ReportField | null;
  /** Another column gives the same field and takes precedence. */
  givenBy: string | null;
}

export function mappingOf(mapping: Record<string, string | null>): Mapping {
  const known = Object.entries(mapping).filter(([, field]) => field === null || isReportField(field));
  return Object.fromEntries(known) as Mapping;
}

/** One line per column name, in the order of the file; what a draft changes is seen at once. */
export function columnChoices(
  { layout }: Pick<Upload, 'layout'>,
  { draft, remembered }: { draft: Mapping; remembered: Record<string, string | null> },
): ColumnChoice[] {
  const recognised = new Map(Object.entries(layout?.sources ?? {}).map(([field, header]) => [header, field]));
  const suggestions = new Map(layout?.unmapped?.map(({ header, suggestion }) => [header, suggestion]));
  const seen = new Set<string>();
  const choices = (layout?.headers ?? []).flatMap((header, at): ColumnChoice[] => {
    if (header.trim() === '' || seen.has(header)) return [];
    seen.add(header);
    const chosen = Object.hasOwn(draft, header) ? draft[header] : undefined;
    const byName = recognised.get(header) ?? null;
    const field = chosen === undefined ? (isReportField(byName) ? byName : null) : (chosen ?? null);
    return [
      {
        header,
        samples: layout?.samples?.[at] ?? [],
        field,
        by: chosen === undefined ? (field === null ? null : 'name') : 'choice',
        isRemembered:
          chosen !== undefined && Object.hasOwn(remembered, header) && remembered[header] === chosen,
        suggestion:
          chosen === undefined && field === null
            ? (suggestions.get(header) ?? suggestionByValues(layout?.samples?.[at] ?? []))
            : null,
        givenBy: null,
      },
    ];
  });
  const given = givenFields(choices);
  return choices.map((choice) => ({
    ...choice,
    suggestion: choice.suggestion !== null && given.has(choice.suggestion) ? null : choice.suggestion,
    givenBy: rivalOf(choice, choices),
  }));
}

/** A column of dates is recognised by its values when its name is unknown. */
function suggestionByValues(samples: readonly string[]): ReportField | null {
  const isDay = (value: string) =>
    /^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})$/.test(value);
  return samples.length > 0 && samples.every(isDay) ? 'metric_date' : null;
}

/** A person's choice takes precedence over a name; of two choices the first column counts. */
function rivalOf(choice: ColumnChoice, all: readonly ColumnChoice[]): string | null {
  if (choice.field === null) return null;
  const same = all.filter(({ field }) => field === choice.field);
  const first = same.find(({ by }) => by === 'choice') ?? same[0];
  return first === undefined || first.header === choice.header ? null : first.header;
}

export function givenFields(choices: readonly ColumnChoice[]): Set<ReportField> {
  return new Set(choices.flatMap(({ field }) => (field === null ? [] : [field])));
}

export function isSameMapping(a: Mapping, b: Mapping): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && a[name] === b[name])
  );
}

import type { SluiceError } from '../../../lib/errors.ts';
import type { ReportConventions } from './conventions.ts';
import type { HeaderMapping, ParsedLine, Platform, RawRow, ReportField, ReportLayout } from './types.ts';

/** The languages whose column names are known. `pt` is Portugal's and Brazil's, `zh` both scripts. */
export const languages = ['en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'pl', 'tr', 'ja', 'zh'] as const;
export type Language = (typeof languages)[number];

/** Names of a field's column, best first, with `|` between them: where several are in a file, the first counts. */
export type AliasTable = Partial<Record<ReportField, string>>;

/** What is particular about one platform; everything else is common to all. */
export interface PlatformDefinition {
  platform: Platform;
  /** As people call it. */
  title: string;
  /** Column names of the exports that people download. */
  aliases: Record<Language, AliasTable>;
  /** Member names and paths of the platform's API, best first. */
  api: AliasTable;
  /** API names of amounts in millionths of the currency. */
  micros: readonly string[];
  /** A row without any name or id is the sum of the others. */
  blankNamesAreTotals: boolean;
  /** How to get a report by day, for the error that says one is needed. */
  dailyAdvice: string;
}

export interface FieldColumn {
  index: number;
  header: string;
  unit: 'plain' | 'micros';
}

export interface MappingNote {
  code: 'duplicate_header' | 'passed_over' | 'ambiguous_header' | 'mapped_twice';
  message: string;
}

/** Which column feeds which field. Plain JSON. */
export interface MappedColumns {
  platform: Platform;
  format: ReportLayout['format'];
  headers: string[];
  /** Best first: of a row, the first column that holds something counts. Several only for doubles and in JSON. */
  fields: Partial<Record<ReportField, FieldColumn[]>>;
  /** ISO 4217, when the header of an amount names it. */
  currency: string | null;
  /** Columns that feed nothing, with the field they may have meant. */
  unmapped: { index: number; header: string; suggestion: ReportField | null }[];
  /** What a person should know about how the choice was made. */
  notes: MappingNote[];
  /** Of the header, as far as it can be told; several when it reads the same in them. */
  languages: Language[];
}

export interface MapOptions {
  /** A person's choice; goes before every alias. */
  mapping?: HeaderMapping | undefined;
  /** Paths of JSON members follow the API's order of preference. Default `delimited`. */
  format?: ReportLayout['format'] | undefined;
}

export interface LineContext {
  conventions: ReportConventions;
}

export interface PlatformProfile {
  platform: Platform;
  /** Which of the first lines is the header, or why this is no report. */
  findHeader(
    candidateLines: readonly (readonly string[])[],
    options?: Pick<MapOptions, 'mapping'>,
  ): { at: number } | { fails: SluiceError };
  mapHeaders(headers: readonly string[], options?: MapOptions): MappedColumns;
  /**
   * The file's error when columns are missing without which no line can be understood; null when all are there. Of the
   * rows it keeps some values, for people who map the columns.
   */
  findMissing(columns: MappedColumns, rows?: readonly (readonly string[])[]): SluiceError | null;
  /** Cheap, so it can be done again when the headers of a JSON file have grown. */
  compileLines(columns: MappedColumns, context: LineContext): (row: RawRow) => ParsedLine;
}

import type { ReportConventions } from './conventions.ts';
import type { ColumnKinds } from './dimensions/column-kinds.ts';
import type { CodePage } from './reading/code-pages.ts';

/** The advertising platforms whose profiles come with Sluice. */
export const platforms = ['meta', 'google', 'tiktok', 'microsoft', 'linkedin', 'pinterest'] as const;
export type BuiltInPlatform = (typeof platforms)[number];
/** One of these, or a tenant's own. */
export type Platform = string;

/** What a line of a report can state, in the order of promotion. */
export const entityTypes = ['campaign', 'ad_set', 'ad', 'daily_metric', 'period_metric'] as const;
export type EntityType = (typeof entityTypes)[number];
/** The figures of a day, or of a longer range. */
export const factTypes = ['daily_metric', 'period_metric'] as const;
export type FactType = (typeof factTypes)[number];
/** The entities that figures belong to. */
export type EntityKind = Exclude<EntityType, FactType>;

/** The canonical fields that columns of a report are mapped to. */
export const reportFields = [
  'metric_date',
  'period_start',
  'period_end',
  'campaign_id',
  'campaign_name',
  'campaign_status',
  'campaign_type',
  'ad_set_id',
  'ad_set_name',
  'ad_set_status',
  'ad_id',
  'ad_name',
  'ad_status',
  'impressions',
  'clicks',
  'link_clicks',
  'reach',
  'spend',
  'conversions',
  'conversion_value',
  'currency',
] as const;
export type ReportField = (typeof reportFields)[number];

export const countFields = ['impressions', 'clicks', 'link_clicks', 'reach'] as const satisfies ReportField[];
export const amountFields = ['spend', 'conversions', 'conversion_value'] as const satisfies ReportField[];

/** Figures that can be added over lines. Reach cannot: the same person may be counted in several of them. */
export const additiveFields = [
  'impressions',
  'clicks',
  'link_clicks',
  'spend',
  'conversions',
  'conversion_value',
] as const satisfies ReportField[];
export type AdditiveField = (typeof additiveFields)[number];
/** Exact decimal texts; null where a line does not state the figure. */
export type AdditiveFigures = Record<AdditiveField, string | null>;

/** Why a value was not accepted. `value` is the text in the file, shortened. */
export interface FieldProblem {
  field: string;
  code: string;
  message: string;
  value: string | null;
}

/** What is odd about a line that is accepted anyway. */
export interface LineWarning {
  code: string;
  message: string;
}

/**
 * A row as it is in the file. `cells[i]` belongs to `headers[i]` of its reader. JSON records are flattened to the same
 * form; their headers are paths such as `metrics.costMicros`.
 */
export interface RawRow {
  /** From 0, without titles, header and blank lines. */
  rowIndex: number;
  /** The line where it begins, from 1; for JSON the number of the record. */
  line: number;
  cells: readonly string[];
  /** Set when the row itself is broken. The rows after it are not affected. */
  problem?: FieldProblem;
  /** How many cells the row has, when it has fewer than the header; the others are empty. */
  cellsGiven?: number;
}

/** Where reading can resume after a batch. */
export interface ResumePoint {
  /** The first byte of the file that is not part of a row read so far. */
  byteOffset: number;
  nextRowIndex: number;
  nextLine: number;
  layout: ReportLayout;
}

export type ReportEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'shift_jis' | 'windows-1252' | CodePage;

/** What is known about the file from its beginning. Plain JSON, so that it can be saved in a checkpoint. */
export type ReportLayout =
  | {
      format: 'delimited';
      encoding: ReportEncoding;
      delimiter: string;
      /** As written, in file order; may contain repeated and empty names. */
      headers: string[];
      /** The lines above the header (title, date range), for people. */
      titleLines: string[];
    }
  | {
      format: 'json';
      encoding: ReportEncoding;
      shape: 'array' | 'ndjson' | 'meta' | 'google' | 'tiktok';
      /** The paths seen so far; grows while reading. */
      headers: string[];
    };

export interface RowBatch {
  rows: RawRow[];
  /** After the last row of the batch; null when reading cannot resume there. */
  resume: ResumePoint | null;
}

/** A campaign, ad set or ad that a line names. */
export interface DimensionEntity {
  /** The platform's id or, in a report without ids, `name:` and the path of names as a JSON array. */
  externalId: string;
  /** True when `externalId` is made of names: a rename will look like a new entity. */
  isNameKey: boolean;
  name: string | null;
  status: string | null;
  /** Campaigns only: the platform's campaign type or objective. */
  type?: string | null;
}

/** One day, or one range, of one campaign, ad set or ad. Figures are exact decimal texts, never floating point. */
export interface MetricEntity {
  /** YYYY-MM-DD as in the file: the account's own day, never shifted. */
  metricDate: string;
  /** The last day of a range that begins on `metricDate`; null for a single day. */
  dateTo: string | null;
  impressions: string | null;
  /** All clicks; those on the ad's link are counted in `linkClicks` as well. */
  clicks: string | null;
  linkClicks: string | null;
  reach: string | null;
  spend: string | null;
  conversions: string | null;
  conversionValue: string | null;
  /** ISO 4217, upper case. */
  currency: string | null;
}

/** The result of parsing one data row. */
export type ParsedLine =
  | { kind: 'total'; rowIndex: number; line: number; label: string; figures: AdditiveFigures }
  /** A sum over all days of something. */
  | { kind: 'subtotal'; rowIndex: number; line: number }
  | {
      kind: 'valid';
      rowIndex: number;
      line: number;
      /** Null only in reports that name an ad set or ad by its id and no campaign. */
      campaign: DimensionEntity | null;
      adSet: DimensionEntity | null;
      ad: DimensionEntity | null;
      metric: MetricEntity;
      /** The cells that tell it apart from other lines of the same day and entity, by header. */
      dimensions: [header: string, cell: string][] | null;
      warnings: LineWarning[];
    }
  | {
      kind: 'invalid';
      rowIndex: number;
      line: number;
      problems: FieldProblem[];
      /** The figures that could be read in spite of the problems. */
      figures: AdditiveFigures | null;
      /** The row of the file as headers and cells; repeated headers get ` (2)`, ` (3)`. */
      source: [header: string, cell: string][];
    };

/** A mapping that a person chose: header as written → canonical field, or null to leave the column out. */
export type HeaderMapping = Record<string, ReportField | null>;

/** The languages whose column names are known. `pt` is Portugal's and Brazil's, `zh` both scripts. */
// biome-ignore format: one line per language says nothing
export const languages = [
  'en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'pl', 'tr', 'ja', 'ko', 'zh', 'vi', 'ru', 'id', 'ar',
] as const;
export type Language = (typeof languages)[number];

/** Names of a field's column, best first. If a file has several of them, the first is used. */
export type AliasTable = Partial<Record<ReportField, readonly string[]>>;

/**
 * The profile of a platform: what is specific to it; everything else is the same for all. Those of the built-in ones
 * are files in `platforms/`, and a tenant's own have the same form.
 */
export interface PlatformDefinition {
  platform: Platform;
  /** The name that people use. */
  title: string;
  /** For people: what its figures mean. */
  notes: string;
  /** Column names of the exports that people download. `any` is for profiles that name no language. */
  aliases: Partial<Record<Language | 'any', AliasTable>>;
  /** Member names and paths of the platform's API, best first. */
  api: AliasTable;
  /** API names of amounts in millionths of the currency. */
  micros: readonly string[];
  /** Whether a row without any name or id is the sum of the others. */
  blank_names_are_totals: boolean;
  /** Labels of total rows, besides those that all platforms use. */
  total_labels?: readonly string[] | undefined;
  /** How its reports write what can be read in two ways; by default the file decides. */
  decimal_mark?: '.' | ',' | null | undefined;
  date_order?: 'dmy' | 'mdy' | null | undefined;
  /** How to get a report by day, for the error that asks for one. */
  daily_advice: string;
  /** Columns that are not read and that only this platform's exports have. */
  marks: readonly string[];
  /** Columns that it breaks reports down by, besides those that are known of all. */
  dimensions: readonly string[];
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

/** Which column each field is read from. Plain JSON. */
export interface MappedColumns {
  platform: Platform;
  format: ReportLayout['format'];
  headers: string[];
  /** Best first: the first non-empty column of a row is used. Several only for repeated headers and in JSON. */
  fields: Partial<Record<ReportField, FieldColumn[]>>;
  /** ISO 4217, when the header of an amount names it. */
  currency: string | null;
  /** Columns that are not read, with the field that each may mean. */
  unmapped: { index: number; header: string; suggestion: ReportField | null }[];
  /** What a person should know about how the columns were chosen. */
  notes: MappingNote[];
  /** The possible languages of the header; several when it is the same in them. */
  languages: Language[];
}

export interface MapOptions {
  /** A person's choice; it takes precedence over every alias. */
  mapping?: HeaderMapping | undefined;
  /** Paths of JSON members follow the API's order of preference. Default `delimited`. */
  format?: ReportLayout['format'] | undefined;
}

/** From the first to the last day, both included. */
export interface DateRange {
  from: string;
  to: string;
}

export interface LineContext {
  conventions: ReportConventions;
  /** What the columns are that no field is read from; without it no column tells lines apart. */
  kinds?: ColumnKinds | undefined;
  /** The range of lines that have neither a day nor a range of their own. */
  range?: DateRange | null | undefined;
  /** Which oddities of readable lines are worth a warning, and which day is the last that is not in the future. */
  plausibility?: { checks: readonly string[]; today: string } | undefined;
}

/** The advertising platforms whose reports are understood. */
export const platforms = ['meta', 'google', 'tiktok'] as const;
export type Platform = (typeof platforms)[number];

/** What a line of a report can be about; also the order in which entities are promoted. */
export const entityTypes = ['campaign', 'ad_set', 'ad', 'daily_metric'] as const;
export type EntityType = (typeof entityTypes)[number];
/** The entities that daily metrics belong to. */
export type EntityKind = Exclude<EntityType, 'daily_metric'>;

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
  'reach',
  'spend',
  'conversions',
  'conversion_value',
  'currency',
] as const;
export type ReportField = (typeof reportFields)[number];

/** Why a value was not accepted; `value` is what stood in the file, shortened. */
export interface FieldProblem {
  field: string;
  code: string;
  message: string;
  value: string | null;
}

/** What is odd about a line that is taken all the same. */
export interface LineWarning {
  code: string;
  message: string;
}

/**
 * A row as it stands in the file, before anything is made of it. `cells[i]` belongs to `headers[i]` of its reader.
 * JSON records are flattened to the same form; their headers are paths such as `metrics.costMicros`.
 */
export interface RawRow {
  /** From 0: data rows of the file, without titles, header, blank lines. */
  rowIndex: number;
  /** From 1: where in the file it begins; for JSON the number of the record. */
  line: number;
  cells: readonly string[];
  /** Why nothing can be made of the row: it is broken in itself. The rows after it are well. */
  problem?: FieldProblem;
}

/** Where reading can go on after a batch without reading what came before it. */
export interface ResumePoint {
  /** In the file, of the first byte that was not read as part of a row. */
  byteOffset: number;
  nextRowIndex: number;
  nextLine: number;
  layout: ReportLayout;
}

/** What was found out about the file at its beginning. Plain JSON, so that it can be kept in a checkpoint. */
export type ReportLayout =
  | {
      format: 'delimited';
      encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'shift_jis' | 'windows-1252';
      delimiter: string;
      /** As written, in file order; may hold doubles and empty names. */
      headers: string[];
      /** The lines above the header (title, date range), for people. */
      titleLines: string[];
    }
  | {
      format: 'json';
      encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'shift_jis' | 'windows-1252';
      shape: 'array' | 'ndjson' | 'meta' | 'google' | 'tiktok';
      /** Paths seen so far; grows while reading. */
      headers: string[];
    };

export interface RowBatch {
  rows: RawRow[];
  /** After the last row of the batch; null when this place cannot be returned to. */
  resume: ResumePoint | null;
}

/** A campaign, ad set or ad that a line names. */
export interface DimensionEntity {
  /** The platform's id; or, in a report without ids, `name:` and the path of names as a JSON array. */
  externalId: string;
  /** True when `externalId` is made of names: a rename will look like a new entity. */
  isNameKey: boolean;
  name: string | null;
  status: string | null;
  /** Campaigns only: the platform's campaign type or objective. */
  type?: string | null;
}

/** One day of one campaign, ad set or ad. Figures are exact decimal texts, never floating point. */
export interface MetricEntity {
  /** YYYY-MM-DD as in the file: the account's own day, never shifted. */
  metricDate: string;
  impressions: string | null;
  clicks: string | null;
  reach: string | null;
  spend: string | null;
  conversions: string | null;
  conversionValue: string | null;
  /** ISO 4217, upper case. */
  currency: string | null;
}

/** What became of one data row. */
export type ParsedLine =
  | { kind: 'total'; rowIndex: number; line: number }
  | {
      kind: 'valid';
      rowIndex: number;
      line: number;
      /** Null only in reports that name an ad set or an ad by its id and nothing above it. */
      campaign: DimensionEntity | null;
      adSet: DimensionEntity | null;
      ad: DimensionEntity | null;
      metric: MetricEntity;
      warnings: LineWarning[];
    }
  | {
      kind: 'invalid';
      rowIndex: number;
      line: number;
      problems: FieldProblem[];
      /** The row as it stood in the file, header to cell; doubled headers get ` (2)`, ` (3)`. */
      source: [header: string, cell: string][];
    };

/** A mapping that a person chose: header as written → canonical field, or null to leave the column out. */
export type HeaderMapping = Record<string, ReportField | null>;

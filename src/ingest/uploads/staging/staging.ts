import { hash } from 'node:crypto';
import { arrayText, ColumnArrays } from '../../../lib/postgres/column-arrays.ts';
import { FigureSums, type FileSums, noSums } from '../reconciliation/figure-sums.ts';
import { additiveOf } from '../reports/lines/figures.ts';
import { isAllWord } from '../reports/lines/totals.ts';
import type { DimensionEntity, EntityType, LineWarning, ParsedLine } from '../reports/types.ts';
import type { Upload, WarningCount } from '../types.ts';
import { stagedColumnCount } from './store.ts';

type ValidLine = Extract<ParsedLine, { kind: 'valid' }>;
type InvalidLine = Extract<ParsedLine, { kind: 'invalid' }>;

/** Counts of the lines staged so far. */
export interface StagingFigures extends Pick<Upload, 'totalRows' | 'validRows' | 'invalidRows' | 'warnings'> {
  /** Why lines were refused. */
  problems: WarningCount[];
  sums: FileSums;
  /** Lines with a cell that stands for all values of its column; they may sum up other lines. */
  summaries?: number;
}

export const subtotalsLeftOut = {
  code: 'subtotals_left_out',
  message:
    'Lines that sum up other lines of the file ("All") were left out; the lines that they sum up are stored.',
};

const maxKinds = 50;
/** How many entities are remembered. Beyond this, some are staged again, which changes nothing. */
const maxRemembered = 200_000;

/**
 * Turns parsed lines into staging rows, as arrays of columns. A campaign, ad set or ad is staged only when the file
 * has not stated the same before: staging four rows for every line took 12 s for 50 MB.
 */
export class StagingWriter {
  readonly #upload: Pick<Upload, 'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform'>;
  readonly #keyPrefix: string;
  readonly #seen = new Map<string, string>();
  readonly #keys = new Map<string, DimensionKeys>();
  readonly #figures: Omit<StagingFigures, 'sums'>;
  readonly #sums: FigureSums;
  readonly #rows = new ColumnArrays(stagedColumnCount);

  constructor(upload: StagingWriter['upload'], figures: StagingFigures) {
    this.#upload = upload;
    const { sums = noSums, ...counts } = structuredClone(figures);
    this.#figures = counts;
    this.#sums = new FigureSums(sums);
    this.#keyPrefix = JSON.stringify([upload.workspaceId, upload.clientId, upload.platform]).slice(0, -1);
  }

  get upload(): Pick<Upload, 'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform'> {
    return this.#upload;
  }

  get figures(): StagingFigures {
    return { ...structuredClone(this.#figures), sums: this.#sums.toJSON() };
  }

  add(line: ParsedLine): void {
    if (line.kind === 'total') {
      this.#sums.addTotal({ label: line.label, line: line.line, figures: line.figures });
      return;
    }
    if (line.kind === 'subtotal') {
      count(this.#figures.warnings, subtotalsLeftOut);
      return;
    }
    this.#figures.totalRows += 1;
    if (line.kind === 'valid') this.#addValid(line);
    else this.#addInvalid(line);
  }

  /** Returns the rows since the last call, one array per column; null when there are none. */
  take(): string[] | null {
    return this.#rows.isEmpty ? null : this.#rows.take();
  }

  #addValid(line: ValidLine): void {
    this.#figures.validRows += 1;
    for (const warning of line.warnings) count(this.#figures.warnings, warning);
    const { campaign, adSet, ad, metric, rowIndex } = line;
    const keys = this.#keysOf(line);
    if (campaign && this.#isNews('campaign', keys.campaignKey, campaign, '')) {
      const { type = null } = campaign;
      this.#put('campaign', rowIndex, keys.campaignHash, dimensionJson(campaign, { type }));
    }
    if (adSet && this.#isNews('ad_set', keys.adSetKey, adSet, campaign?.externalId ?? '')) {
      const parents = { campaign_external_id: campaign?.externalId ?? null };
      this.#put('ad_set', rowIndex, keys.adSetHash, dimensionJson(adSet, parents));
    }
    const parentIds = `${campaign?.externalId ?? ''}\u0000${adSet?.externalId ?? ''}`;
    if (ad && this.#isNews('ad', keys.adKey, ad, parentIds)) {
      const parents = {
        campaign_external_id: campaign?.externalId ?? null,
        ad_set_external_id: adSet?.externalId ?? null,
      };
      this.#put('ad', rowIndex, keys.adHash, dimensionJson(ad, parents));
    }
    if (line.dimensions?.some(([, cell]) => isAllWord(cell)))
      this.#figures.summaries = (this.#figures.summaries ?? 0) + 1;
    this.#sums.addLine(additiveOf(metric));
    const type = metric.dateTo === null ? 'daily_metric' : 'period_metric';
    const range =
      metric.dateTo === null ? `"${metric.metricDate}"` : `"${metric.metricDate}","${metric.dateTo}"`;
    const naturalKey = `${this.#keyPrefix},"${type}",${range},${keys.entityKey}]`;
    const head = [type, `${rowIndex}`, sha256(naturalKey), none, 'valid', none];
    this.#rows.add([...head, ...factColumns(line, keys.entityColumns)]);
  }

  #addInvalid(line: InvalidLine): void {
    this.#figures.invalidRows += 1;
    for (const { code, field, message } of line.problems) {
      count(this.#figures.problems, { code: `${field}: ${code}`, message });
    }
    this.#sums.addInvalid(
      line.figures,
      line.problems.map(({ field }) => field),
    );
    const source = jsonOfPairs(line.source);
    const errors = JSON.stringify(line.problems);
    const [raw, refusals] = [arrayText(storable(source)), arrayText(storable(errors))];
    const head = ['daily_metric', `${line.rowIndex}`, sha256(source), raw, 'invalid', refusals];
    this.#rows.add([...head, ...noFact.slice(0, -1), `${line.line}`]);
  }

  #put(entity: EntityType, rowIndex: number, hash: string, json: string): void {
    this.#rows.add([entity, `${rowIndex}`, hash, arrayText(storable(json)), 'valid', none, ...noFact]);
  }

  /** Whether the file has not stated exactly this about the entity before. */
  #isNews(kind: string, key: string, entity: DimensionEntity, parent: string): boolean {
    const said = `${entity.name}\u0000${entity.status}\u0000${entity.type}\u0000${parent}`;
    const id = kind + key;
    if (this.#seen.get(id) === said) return false;
    if (this.#seen.size >= maxRemembered) this.#seen.clear();
    this.#seen.set(id, said);
    return true;
  }

  /** Entities repeat from line to line, so what depends only on their ids is computed once. */
  #keysOf({ campaign, adSet, ad }: ValidLine): DimensionKeys {
    const id = `${campaign?.externalId ?? ''}\u0000${adSet?.externalId ?? ''}\u0000${ad?.externalId ?? ''}`;
    const known = this.#keys.get(id);
    if (known) return known;
    if (this.#keys.size >= maxRemembered) this.#keys.clear();
    const hashOf = (type: string, key: string) => sha256(`${this.#keyPrefix},"${type}",${key}]`);
    const [campaignKey, adSetKey, adKey] = [campaign, adSet, ad].map((one) =>
      JSON.stringify(one?.externalId ?? null),
    ) as [string, string, string];
    const keys = {
      campaignKey,
      adSetKey,
      adKey,
      campaignHash: campaign ? hashOf('campaign', campaignKey) : '',
      adSetHash: adSet ? hashOf('ad_set', adSetKey) : '',
      adHash: ad ? hashOf('ad', adKey) : '',
      entityKey: `${campaignKey},${adSetKey},${adKey}`,
      entityColumns: [campaign, adSet, ad].map((one) => arrayText(storableText(one?.externalId))),
    };
    this.#keys.set(id, keys);
    return keys;
  }
}

interface DimensionKeys {
  campaignKey: string;
  adSetKey: string;
  adKey: string;
  campaignHash: string;
  adSetHash: string;
  adHash: string;
  entityKey: string;
  entityColumns: string[];
}

function dimensionJson(entity: DimensionEntity, more: Record<string, string | null>): string {
  const { externalId, isNameKey, name, status } = entity;
  return JSON.stringify({ external_id: externalId, is_name_key: isNameKey, name, status, ...more });
}

/** Figures are decimal texts and keep every digit. */
function factColumns({ metric, dimensions, line }: ValidLine, entityColumns: string[]): string[] {
  const { impressions, clicks, linkClicks, reach, spend, conversions, conversionValue, currency } = metric;
  const figures = [impressions, clicks, linkClicks, reach, spend, conversions, conversionValue, currency];
  return [
    metric.metricDate,
    metric.dateTo ?? none,
    ...entityColumns,
    ...figures.map((figure) => figure ?? none),
    dimensions === null ? none : arrayText(storable(jsonOfPairs(dimensions))),
    `${line}`,
  ];
}

const none = 'NULL';
/** The fact columns of rows that are not facts. */
const noFact = Array.from({ length: 15 }, () => none);

/** Written by hand: an object would lose `__proto__` and reorder columns with names like "7". */
function jsonOfPairs(pairs: readonly [string, string][]): string {
  return `{${pairs.map(([header, cell]) => `${JSON.stringify(header)}:${JSON.stringify(cell)}`).join(',')}}`;
}

/** PostgreSQL stores neither NUL nor lone surrogates; U+FFFD replaces them. */
function storable(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/gi, '$1\ufffd');
}

/** The same for plain text, so that an id is the same in facts and in their parents. */
function storableText(text: string | undefined): string | null {
  return text?.replaceAll('\u0000', '\ufffd') ?? null;
}

function sha256(text: string): string {
  return hash('sha256', text);
}

function count(counts: WarningCount[], { code, message }: LineWarning): void {
  const known = counts.find((one) => one.code === code);
  if (known) known.count += 1;
  else if (counts.length < maxKinds) counts.push({ code, message, count: 1 });
}

export const noFigures: StagingFigures = {
  totalRows: 0,
  validRows: 0,
  invalidRows: 0,
  warnings: [],
  problems: [],
  sums: noSums,
};

import { hash } from 'node:crypto';
import { copyText } from '../../../lib/postgres/copy.ts';
import type { DimensionEntity, EntityType, LineWarning, MetricEntity, ParsedLine } from '../reports/types.ts';
import type { Upload, WarningCount } from '../types.ts';

type ValidLine = Extract<ParsedLine, { kind: 'valid' }>;
type InvalidLine = Extract<ParsedLine, { kind: 'invalid' }>;

/** Counts of the lines staged so far. */
export interface StagingFigures extends Pick<Upload, 'totalRows' | 'validRows' | 'invalidRows' | 'warnings'> {
  /** Why lines were refused. */
  problems: WarningCount[];
}

const maxKinds = 50;
const rowsPerChunk = 200;
/** How many entities are remembered. Beyond this, some are staged again, which changes nothing. */
const maxRemembered = 200_000;

/**
 * Turns parsed lines into staging rows, in PostgreSQL's text format for COPY. A campaign, ad set or ad is staged only
 * when the file has not stated the same before: staging four rows for every line took 12 s for 50 MB.
 */
export class StagingWriter {
  readonly #upload: Pick<Upload, 'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform'>;
  readonly #keyPrefix: string;
  readonly #seen = new Map<string, string>();
  readonly #keys = new Map<string, DimensionKeys>();
  readonly #figures: StagingFigures;
  #rows: string[] = [];
  #chunks: Buffer[] = [];

  constructor(upload: StagingWriter['upload'], figures: StagingFigures) {
    this.#upload = upload;
    this.#figures = structuredClone(figures);
    this.#keyPrefix = JSON.stringify([upload.workspaceId, upload.clientId, upload.platform]).slice(0, -1);
  }

  get upload(): Pick<Upload, 'tenantId' | 'uploadId' | 'workspaceId' | 'clientId' | 'platform'> {
    return this.#upload;
  }

  get figures(): StagingFigures {
    return structuredClone(this.#figures);
  }

  add(line: ParsedLine): void {
    if (line.kind === 'total') return;
    this.#figures.totalRows += 1;
    if (line.kind === 'valid') this.#addValid(line);
    else this.#addInvalid(line);
    if (this.#rows.length >= rowsPerChunk) this.#pack();
  }

  /** Returns the rows since the last call, ready to be sent. */
  take(): Buffer[] {
    this.#pack();
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  /** Bytes live outside the heap; many small strings would stay in it until the batch is sent. */
  #pack(): void {
    if (this.#rows.length === 0) return;
    this.#chunks.push(Buffer.from(this.#rows.join('')));
    this.#rows = [];
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
    const naturalKey = `${this.#keyPrefix},"daily_metric","${metric.metricDate}",${keys.entityKey}]`;
    this.#rows.push(
      `daily_metric\t${rowIndex}\t${sha256(naturalKey)}\t\\N\tvalid\t\\N\t${factColumns(metric, keys.entityColumns)}\n`,
    );
  }

  #addInvalid(line: InvalidLine): void {
    this.#figures.invalidRows += 1;
    for (const { code, field, message } of line.problems) {
      count(this.#figures.problems, { code: `${field}: ${code}`, message });
    }
    const source = jsonOfPairs(line.source);
    const errors = JSON.stringify(line.problems);
    this.#rows.push(
      `daily_metric\t${line.rowIndex}\t${sha256(source)}\t${copyText(storable(source))}\tinvalid\t` +
        `${copyText(storable(errors))}\t${noFact}\n`,
    );
  }

  #put(entity: EntityType, rowIndex: number, hash: string, json: string): void {
    this.#rows.push(`${entity}\t${rowIndex}\t${hash}\t${copyText(storable(json))}\tvalid\t\\N\t${noFact}\n`);
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
      entityColumns: [campaign, adSet, ad].map((one) => copyText(storableText(one?.externalId))).join('\t'),
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
  entityColumns: string;
}

function dimensionJson(entity: DimensionEntity, more: Record<string, string | null>): string {
  const { externalId, isNameKey, name, status } = entity;
  return JSON.stringify({ external_id: externalId, is_name_key: isNameKey, name, status, ...more });
}

/** Figures are decimal texts and keep every digit. */
function factColumns(metric: MetricEntity, entityColumns: string): string {
  const { impressions, clicks, reach, spend, conversions, conversionValue, currency } = metric;
  return (
    `${metric.metricDate}\t${entityColumns}\t${impressions ?? none}\t${clicks ?? none}\t${reach ?? none}\t` +
    `${spend ?? none}\t${conversions ?? none}\t${conversionValue ?? none}\t${currency ?? none}`
  );
}

const none = '\\N';
/** The fact columns of rows that are not facts. */
const noFact = Array.from({ length: 11 }, () => none).join('\t');

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
};

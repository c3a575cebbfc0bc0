import { copyOf } from '../shown-text.ts';
import type { DimensionEntity, MappedColumns, ReportField } from '../types.ts';
import { isNullName } from '../values/numbers.ts';
import { cellReader, type LineNotes } from './cells.ts';
import { keyOfNames, readId } from './ids.ts';
import { problemOf } from './problems.ts';
import { isTotalWord } from './totals.ts';

export interface LineEntities {
  /** Null only in reports without a column for campaigns: then the ad set or ad carries the line. */
  campaign: DimensionEntity | null;
  adSet: DimensionEntity | null;
  ad: DimensionEntity | null;
}

/** Reads the campaign, ad set and ad of a row. Returns null when they are missing or cannot be read. */
export function entityReader(columns: MappedColumns) {
  const readCampaign = levelReader('campaign', columns);
  const readAdSet = levelReader('ad_set', columns);
  const readAd = levelReader('ad', columns);
  const hasCampaigns = 'campaign_id' in columns.fields || 'campaign_name' in columns.fields;

  return (cells: readonly string[], notes: LineNotes): LineEntities | null => {
    const before = notes.problems.length;
    const campaign = readCampaign(cells, null, notes);
    const adSet = readAdSet(cells, campaign, notes);
    const ad = readAd(cells, adSet ?? campaign, notes);
    const hasLower = adSet !== null || ad !== null;
    if (campaign === null && (hasCampaigns || !hasLower || notes.problems.length > before)) {
      if (notes.problems.length === before) notes.problems.push(missingCampaign(columns));
      return null;
    }
    if (campaign?.isNameKey === true || adSet?.isNameKey === true || ad?.isNameKey === true) {
      notes.warnings.push(nameKey);
      if (isNamedLikeTotal(campaign ?? adSet ?? ad)) notes.warnings.push(namedLikeTotal(notes.line));
    }
    return { campaign, adSet, ad };
  };
}

/** Asked once for each entity, because a report names few of them many times. */
const namedLikeTotals = new WeakMap<DimensionEntity, boolean>();

function isNamedLikeTotal(entity: DimensionEntity | null): boolean {
  if (entity === null || !entity.isNameKey) return false;
  const known = namedLikeTotals.get(entity);
  if (known !== undefined) return known;
  const is = isTotalWord(entity.name ?? '');
  namedLikeTotals.set(entity, is);
  return is;
}

const namedLikeTotal = (line: number) => ({
  code: 'named_like_total',
  message:
    `A line with a day is named like a total, for example line ${line}. It is stored as data; if it sums up the ` +
    'other lines, remove it and upload the file again.',
});

const nameKey = {
  code: 'name_key',
  message:
    'The report has no ids, so names are used instead: a renamed campaign, ad set or ad will look like a new one. ' +
    'Add the id columns to the report to avoid this.',
};

const names: ReportField[] = ['campaign_name', 'campaign_id', 'ad_set_name', 'ad_set_id', 'ad_name', 'ad_id'];

function missingCampaign({ fields }: MappedColumns) {
  const field = names.find((name) => name in fields) ?? 'campaign_id';
  const level = field.startsWith('campaign') ? 'campaign' : field.startsWith('ad_set') ? 'ad set' : 'ad';
  return problemOf({
    field,
    columns: fields[field],
    fault: {
      code: 'missing_campaign',
      message: `The row names no ${level}. Fill in its name or id, or remove the row.`,
    },
    value: '',
  });
}

/** An entity that was read before: a report names few entities many times. */
interface KnownEntity {
  id: string;
  name: string;
  status: string;
  type: string;
  /** Null for an entity with an id, which is the same whatever its parent. */
  parent: DimensionEntity | null;
  entity: DimensionEntity;
}

const maxKnownEntities = 50_000;

function levelReader(level: 'campaign' | 'ad_set' | 'ad', { fields }: MappedColumns) {
  const idField: ReportField = `${level}_id`;
  const nameField: ReportField = `${level}_name`;
  const idCell = cellReader(fields[idField]);
  const nameCell = cellReader(fields[nameField]);
  const statusCell = cellReader(fields[`${level}_status`]);
  const typeCell = cellReader(level === 'campaign' ? fields.campaign_type : undefined);
  const known = knownEntities();

  return (
    cells: readonly string[],
    above: DimensionEntity | null,
    notes: LineNotes,
  ): DimensionEntity | null => {
    const id = idCell(cells);
    const name = nameCell(cells);
    const hasId = !isNullName(id);
    if (!hasId && isNullName(name)) return null;
    const parent = hasId ? null : above;
    const status = statusCell(cells);
    const type = typeCell(cells);
    const found = known.find(parent, hasId ? id : name);
    if (found !== undefined && found.id === id && found.name === name) {
      if (found.status === status && found.type === type) return found.entity;
    }
    const externalId = hasId ? readId(id) : keyOfNames(parent, name);
    if (typeof externalId !== 'string') {
      const field = hasId ? idField : nameField;
      notes.problems.push(
        problemOf({ field, columns: fields[field], fault: externalId, value: hasId ? id : name }),
      );
      return null;
    }
    const entity: DimensionEntity = {
      externalId: copyOf(externalId),
      isNameKey: !hasId,
      name: textOf(name),
      status: textOf(status),
    };
    if (level === 'campaign') entity.type = textOf(type);
    const copies = { id: copyOf(id), name: copyOf(name), status: copyOf(status), type: copyOf(type) };
    known.remember(hasId ? copies.id : copies.name, { ...copies, parent, entity });
    return entity;
  };
}

/** By parent and then by id or name, so that no key has to be concatenated for a lookup. */
function knownEntities() {
  const byParent = new Map<DimensionEntity | null, Map<string, KnownEntity>>();
  let size = 0;
  let last: { key: string; parent: DimensionEntity | null; found: KnownEntity } | null = null;
  return {
    find(parent: DimensionEntity | null, key: string): KnownEntity | undefined {
      // Rows of one entity usually follow each other.
      if (last !== null && last.parent === parent && last.key === key) return last.found;
      const found = byParent.get(parent)?.get(key);
      if (found !== undefined) last = { key: found.id === key ? found.id : found.name, parent, found };
      return found;
    },
    remember(key: string, found: KnownEntity): void {
      size += 1;
      if (size > maxKnownEntities) {
        byParent.clear();
        size = 1;
      }
      const names = byParent.get(found.parent) ?? new Map<string, KnownEntity>();
      names.set(key, found);
      byParent.set(found.parent, names);
      last = { key, parent: found.parent, found };
    },
  };
}

const textOf = (cell: string) => (isNullName(cell) ? null : copyOf(cell.trim()));

import type { Workbooks } from '../../../kernel/files/workbooks.ts';
import { normalizedFields } from '../../../kernel/rows/normalized-fields.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import { parseExactly } from '../../../lib/rows/exact-json.ts';
import { collectColumns } from '../../../lib/rows/json-members.ts';
import { openRows } from '../../../lib/rows/open-rows.ts';
import type { ParsedRow, RowReader } from '../../../lib/rows/types.ts';
import { catalogErrors } from '../errors.ts';
import { brandScope, keysOf } from '../matching/keys.ts';
import { assertMatchable, fieldColumns, readQuestion } from '../matching/product-fields.ts';
import {
  abandonVersion,
  countCatalogs,
  endLoading,
  findCatalog,
  insertVersion,
  retireVersions,
  useVersion,
} from '../store.ts';
import type { Catalog, CatalogKey, FieldColumns, ProductRow, Question } from '../types.ts';
import { insertProducts, settleProducts } from './product-store.ts';

export interface LoadDeps {
  db: Database;
  workbooks: Workbooks;
  workerId: string;
}

export interface NewCatalog extends CatalogKey {
  userId: string;
  fileName: string | null;
  mediaType: string | null;
  /** Columns that the request names; the others are recognised by their names. */
  fields: Partial<FieldColumns>;
  /** Of a workbook. Null: its first visible sheet. */
  sheet: string | null;
  content: AsyncIterable<Uint8Array>;
  /** Aborts when nobody waits for the catalogue any more. */
  signal: AbortSignal;
}

const maxCatalogs = 100;
/** Keys are computed on the main thread: a batch of them must not block other requests. */
const batchRows = 1_000;
const batchBytes = 1024 * 1024;

/**
 * Replaces a catalogue with a file. The products commit in batches under a version that nobody uses; the last
 * transaction switches over. If anything fails before, the old version stays in use, and upkeep removes what was
 * written.
 */
export async function loadCatalog(
  { db, workbooks, workerId }: LoadDeps,
  request: NewCatalog,
): Promise<Catalog> {
  const { tenantId } = request;
  await assertRoom(db, request);
  const reader = await openRows(request.content, {
    fileName: request.fileName ?? undefined,
    declaredType: request.mediaType ?? undefined,
    sheet: request.sheet ?? undefined,
    openWorkbook: workbooks.forRequest(request),
  });
  try {
    if (reader.columns) assertMatchable(fieldColumns(reader.columns, request.fields), reader.columns);
    const first = await reader.read(batchRows, batchBytes);
    const versionId = await db.tenant(tenantId, (tx) =>
      insertVersion(tx, { ...request, loadingBy: workerId }),
    );
    try {
      return await writeAll(db, request, { reader, first, versionId });
    } catch (error) {
      // If this fails too, upkeep finds the version once this process has ended.
      await db.tenant(tenantId, (tx) => abandonVersion(tx, { tenantId, versionId })).catch(() => {});
      throw error;
    }
  } finally {
    await reader.close();
  }
}

async function assertRoom(db: Database, key: CatalogKey): Promise<void> {
  await db.tenant(key.tenantId, async (tx) => {
    if (await findCatalog(tx, key)) return;
    const count = await countCatalogs(tx, key.tenantId);
    if (count < maxCatalogs) return;
    throw catalogErrors.raise.catalog_limit_reached(
      `The tenant has ${count} catalogues; at most ${maxCatalogs} are allowed`,
    );
  });
}

interface Writing {
  reader: RowReader;
  first: ParsedRow[] | null;
  versionId: number;
}

async function writeAll(
  db: Database,
  request: NewCatalog,
  { reader, first, versionId }: Writing,
): Promise<Catalog> {
  const { tenantId } = request;
  const columns = new Set(reader.columns ?? []);
  const named = reader.columns ? fieldColumns(reader.columns, request.fields) : request.fields;
  // Rows that each name their own columns are asked for the well-known ones, row by row.
  const knownOf = reader.columns ? () => ({}) : normalizedFields;
  const questionOf = (row: Record<string, unknown>, json: string) => readQuestion(row, named, knownOf(json));
  let productCount = 0;
  let skippedCount = 0;
  let rows = first;
  while (rows !== null) {
    request.signal.throwIfAborted();
    if (reader.columns === null) collectColumns(columns, rows);
    const products = productsOf(rows, { versionId, questionOf });
    productCount += products.length;
    skippedCount += rows.length - products.length;
    // The next rows are parsed while these are written; a failure of either is reported once both have ended.
    const [next, written] = await Promise.allSettled([
      reader.read(batchRows, batchBytes),
      write(db, { tenantId, versionId, rows: products }),
    ]);
    if (written.status === 'rejected') throw written.reason;
    if (next.status === 'rejected') throw next.reason;
    rows = next.value;
  }
  const names = [...columns];
  const fields = fieldColumns(names, request.fields);
  assertMatchable(fields, names);
  if (productCount === 0) {
    throw catalogErrors.raise.catalog_unusable(
      `None of the ${skippedCount} rows has a SKU or a title, so nothing can be matched with them`,
    );
  }
  request.signal.throwIfAborted();
  await db.tenant(tenantId, settleProducts);
  return switchOver(db, { ...request, versionId, productCount, skippedCount, columns: names, fields });
}

async function write(
  db: Database,
  batch: { tenantId: string; versionId: number; rows: ProductRow[] },
): Promise<void> {
  if (batch.rows.length > 0) await db.tenant(batch.tenantId, (tx) => insertProducts(tx, batch));
}

type Loaded = Parameters<typeof useVersion>[1];

function switchOver(db: Database, loaded: Loaded): Promise<Catalog> {
  return db.tenant(loaded.tenantId, async (tx) => {
    if (!(await endLoading(tx, loaded))) {
      throw new Error(`The upload of catalogue ${loaded.name} was given up meanwhile`);
    }
    const catalog = await useVersion(tx, loaded);
    await retireVersions(tx, { ...loaded, except: loaded.versionId });
    return catalog;
  });
}

function productsOf(
  rows: readonly ParsedRow[],
  {
    versionId,
    questionOf,
  }: { versionId: number; questionOf: (row: Record<string, unknown>, json: string) => Question },
): ProductRow[] {
  return rows.flatMap(({ rowNo, inputJson }) => {
    const row = parseExactly(inputJson) as Record<string, unknown>;
    const keys = keysOf(questionOf(row, inputJson));
    if (keys.sku === null && keys.title === '') return [];
    const scope = [String(versionId), ...(keys.brand === null ? [] : [brandScope(versionId, keys.brand)])];
    return [
      {
        rowNo,
        skuKey: keys.sku,
        brandTitleKey: keys.brandTitle,
        titleKey: keys.title,
        scope,
        productJson: inputJson,
      },
    ];
  });
}

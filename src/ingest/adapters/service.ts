import type { Role } from '../../kernel/tenancy/types.ts';
import { isSluiceError, messageOf, type SluiceError } from '../../lib/errors.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { adapterErrors } from './errors.ts';
import { isWanted } from './files/file-names.ts';
import { findFile, reopenFailed } from './files/store.ts';
import { emptyReport, type ScanDeps, type ScanLimits, scanAdapter } from './scan/scan.ts';
import { scanSoon } from './scan/store.ts';
import { openPlace } from './sources/open-place.ts';
import { assertPlaceUsable } from './sources/place-checks.ts';
import {
  countAdapters,
  deleteAdapter,
  findAdapter,
  listAdapters,
  type NewAdapter,
  putAdapter,
} from './store.ts';
import type { Adapter, AdapterFile, AdapterKey, FileKey, FileSource, ScanReport } from './types.ts';

export interface AdapterDeps extends ScanDeps {
  adapterMaxCount: number;
}

/** Refuses what is known to be wrong; `checkAdapter` tries the connection. */
export async function saveAdapter(
  deps: AdapterDeps,
  { role, ...adapter }: NewAdapter & { role: Role },
): Promise<Adapter & { isNew: boolean }> {
  const { tenantId, place, target } = adapter;
  await assertPlaceUsable(deps, { tenantId, role, place });
  await deps.doors[target.kind].check(tenantId, target);
  return deps.db.tenant(tenantId, async (tx) => {
    const before = await findAdapter(tx, adapter);
    const limit = deps.adapterMaxCount;
    if (before === null && (await countAdapters(tx, { tenantId, limit })) >= limit) {
      throw adapterErrors.raise.adapter_limit_reached(`The tenant has ${limit} adapters, the most allowed`);
    }
    return putAdapter(tx, adapter);
  });
}

export async function getAdapter({ db }: { db: Database }, key: AdapterKey): Promise<Adapter> {
  const adapter = await db.tenant(key.tenantId, (tx) => findAdapter(tx, key));
  if (adapter) return adapter;
  throw missing(key);
}

/** Deletes its records of files too: an adapter created again ingests all of them again. */
export async function removeAdapter({ db }: { db: Database }, key: AdapterKey): Promise<void> {
  if (!(await db.tenant(key.tenantId, (tx) => deleteAdapter(tx, key)))) throw missing(key);
}

export interface AdapterCheck {
  ok: boolean;
  files: string[];
  errorCode: string | null;
  error: string | null;
}

const batchesForCheck = 20;
const shownNames = 5;

/** Connects and lists a few files; nothing is ingested. */
export async function checkAdapter(deps: AdapterDeps, key: AdapterKey): Promise<AdapterCheck> {
  const adapter = await getAdapter(deps, key);
  try {
    await deps.doors[adapter.target.kind].check(adapter.tenantId, adapter.target);
    const source = await openPlace(deps, adapter);
    try {
      return { ok: true, files: await firstNames(source, adapter), errorCode: null, error: null };
    } finally {
      await source.close();
    }
  } catch (error) {
    const errorCode = isSluiceError(error) ? error.code : 'bug';
    const next = isSluiceError(error) ? ` ${error.definition.next}` : '';
    return { ok: false, files: [], errorCode, error: `${messageOf(error)}.${next}` };
  }
}

/** The names of the first files that a scan would read. */
async function firstNames(source: FileSource, { pattern }: Adapter): Promise<string[]> {
  const names: string[] = [];
  let batches = 0;
  for await (const files of source.list((name) => isWanted(name, pattern))) {
    names.push(...files.map(({ path }) => path));
    batches += 1;
    if (names.length >= shownNames || batches >= batchesForCheck) break;
  }
  return names.sort().slice(0, shownNames);
}

const maxScanned = 1_000;

/** Scans one adapter, or all of the tenant's one after the other within the time limit. */
export async function scanNow(
  deps: AdapterDeps,
  { tenantId, name, limits }: { tenantId: string; name: string | null; limits: ScanLimits },
): Promise<ScanReport[]> {
  const adapters =
    name === null
      ? await deps.db.tenant(tenantId, (tx) => listAdapters(tx, { tenantId, after: null, limit: maxScanned }))
      : [await getAdapter(deps, { tenantId, name })];
  await assertOpen(deps, adapters);
  const startedMs = performance.now();
  const reports: ScanReport[] = [];
  for (const adapter of adapters) {
    const budgetMs = limits.budgetMs - (performance.now() - startedMs);
    const isOver = budgetMs <= 0 || limits.signal?.aborted === true;
    reports.push(
      isOver
        ? { ...emptyReport(adapter), isComplete: false }
        : await scanAdapter(deps, adapter, { ...limits, budgetMs }),
    );
  }
  return reports;
}

/** When ingestion is disabled, a scan is refused like every other ingestion. */
async function assertOpen(deps: AdapterDeps, adapters: readonly Adapter[]): Promise<void> {
  let closed: SluiceError | null = null;
  for (const { tenantId, target } of adapters) {
    const error = await deps.doors[target.kind].check(tenantId, target).then(() => null, asIs);
    if (!isSluiceError(error) || error.code !== 'ingest_disabled') return;
    closed = error;
  }
  if (closed !== null) throw closed;
}

const asIs = (error: unknown): unknown => error;

/** Lets a failed file wait again and schedules a scan soon, even for an adapter without a schedule. */
export function retryFile({ db }: { db: Database }, key: AdapterKey & FileKey): Promise<AdapterFile> {
  return db.tenant(key.tenantId, async (tx) => {
    const before = await findFile(tx, key);
    if (!before) {
      throw adapterErrors.raise.adapter_file_not_found(`Adapter ${key.name} has no file ${key.fileId}`);
    }
    if (!(await reopenFailed(tx, key))) {
      const why =
        before.state === 'failed' ? 'a newer version of it is waiting already' : `it is ${before.state}`;
      throw adapterErrors.raise.adapter_file_not_failed(`The file ${before.path} cannot be retried: ${why}`);
    }
    await scanSoon(tx, key);
    return (await findFile(tx, key)) ?? before;
  });
}

function missing({ name }: AdapterKey): Error {
  return adapterErrors.raise.adapter_not_found(`There is no adapter ${name}`);
}

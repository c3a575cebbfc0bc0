import { isId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import type { JobNames } from '../jobs/names.ts';
import { findJob } from '../jobs/store.ts';
import { can } from '../tenancy/rights.ts';
import { ownerFilter, type Principal, viewOf } from '../tenancy/types.ts';
import { matchRows, readRows } from './store.ts';
import type { Findable, Finder, Found } from './types.ts';

/**
 * How many things of a kind are looked through. Under row-level security no index serves a search for a part of a
 * name, and a search box asks with every letter.
 */
export const lookedThrough = 5_000;
const perKind = 5;
const maxWords = 10;

export interface FindDeps {
  db: Database;
  findables: readonly Findable[];
  namesOf: JobNames;
}

export interface Wish {
  principal: Principal;
  text: string;
  limit: number;
}

/** What the caller may see that has all the words in its name or its id: whole names first, then beginnings. */
export async function findEverywhere(
  { db, findables, namesOf }: FindDeps,
  { principal, text, limit }: Wish,
): Promise<Found[]> {
  const typed = text.trim();
  if (typed === '') return [];
  const finder = { tenantId: principal.tenantId, ownerId: ownerFilter(principal) };
  const allowed = findables.filter(({ action }) => can(principal.role, action));
  const found: Found[] = [];
  await db.read(viewOf(principal), async (tx) => {
    for (const findable of allowed) found.push(...(await findOfKind(tx, findable, { finder, typed })));
  });
  if (isId(typed) && found.length === 0) found.push(...(await findJobById({ db, namesOf }, finder, typed)));
  return found.sort((a, b) => closeness(a, typed) - closeness(b, typed)).slice(0, limit);
}

/** By name, what a job is about is found instead; the jobs of items have names and a page of their own. */
async function findJobById(
  { db, namesOf }: Omit<FindDeps, 'findables'>,
  { tenantId, ownerId }: Finder,
  jobId: string,
): Promise<Found[]> {
  const job = await db.read(tenantId, (tx) => findJob(tx, { tenantId, jobId, ownerId }));
  if (job === null) return [];
  const name = (await namesOf(tenantId, [job])).get(jobId) ?? job.subjectId;
  return [{ kind: 'job', id: job.jobId, name, url: `/jobs/${job.jobId}` }];
}

async function findOfKind(
  tx: Tx,
  findable: Findable,
  { finder, typed }: { finder: Finder; typed: string },
): Promise<Found[]> {
  const { kind, one, url } = findable;
  const rows =
    isId(typed) && one !== undefined
      ? await readRows(tx, one(finder, typed))
      : await matchRows(tx, findable.newest(finder, lookedThrough), {
          patterns: patternsOf(typed),
          limit: perKind,
        });
  return rows.map((row) => ({ kind, id: row.id, name: row.name, url: url(row) }));
}

/** A pattern for `ilike` per word: the word in any place. */
function patternsOf(typed: string): string[] {
  const words = typed.split(/\s+/).slice(0, maxWords);
  return words.map((word) => `%${word.replace(/[\\%_]/g, '\\$&')}%`);
}

function closeness({ name, id }: Found, typed: string): number {
  const [had, wanted] = [name.toLowerCase(), typed.toLowerCase()];
  if (had === wanted || id.toLowerCase() === wanted) return 0;
  return had.startsWith(wanted) ? 1 : 2;
}

import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { ClaimedItem, ItemChange, JobKey, Wait } from '../types.ts';

/** Results are sent as lines of JSON: JSON text has no raw line break, so one can separate two results. */
const lines = (texts: readonly string[]): string => texts.join('\n');

const claimedItem = trustedSql(
  `id, row_no as "rowNo", attempts, strategy, crashes, coalesce(throttled_count, 0) as throttled,
   coalesce(not_found_count, 0) as "notFound", coalesce(uncharged, 0) as uncharged,
   coalesce(earlier_attempts, 0) as "earlierAttempts", input_json::text as "inputJson",
   progress_json::text as "progressJson"`,
);

/**
 * The clock may differ from row to row, so an index cannot be searched with it; read once, it can. Otherwise a claim
 * would read every row that waits for its retry.
 */
const thisMoment = trustedSql('(select clock_timestamp())');

/** For pure processors: the rows stay locked by this transaction, which also finishes them. */
export function lockStatement({ tenantId, jobId, limit }: JobKey & { limit: number }) {
  return sql`
    select i.id, i.row_no as "rowNo", i.attempts, i.strategy, i.crashes, 0 as throttled, 0 as "notFound",
           i.input_json as "inputJson"
      from lock_pure_items(${tenantId}, ${jobId}, ${limit}) i`;
}

export interface ItemClaim extends JobKey {
  limit: number;
  workerId: string;
  lockToken: string;
  lockMs: number;
}

/**
 * Due retries come first: fresh rows may be millions, and a row that was tried must not wait behind all of them. A
 * retry uses up an attempt each time, so fresh rows wait for a while at most. Two ranges of one index: the second is
 * written as a range, too, because with an equation the planner would walk the primary key past all finished rows.
 */
export async function claimItems(tx: Tx, claim: ItemClaim): Promise<ClaimedItem[]> {
  const retries = await lockItems(
    tx,
    claim,
    chosenBetween(claim, sql`due_at > '-infinity' and due_at <= ${thisMoment}`),
  );
  if (retries.length >= claim.limit) return retries;
  const limit = claim.limit - retries.length;
  const fresh = await lockItems(
    tx,
    claim,
    chosenBetween({ ...claim, limit }, sql`due_at >= '-infinity' and due_at <= '-infinity'`),
  );
  return [...retries, ...fresh];
}

function chosenBetween(claim: ItemClaim, due: Sql): Sql {
  return sql`
    select id
      from job_items
     where tenant_id = ${claim.tenantId}
       and job_id = ${claim.jobId}
       and status = 'PENDING'
       and crashes = 0
       and ${due}
     order by due_at, id
     limit ${claim.limit}
       for update skip locked`;
}

/** Says what all rows of the job wait for; nobody has to take it back, because it ends with its time. */
export async function noteJobWait(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  { waitingFor, waitMs }: { waitingFor: Wait; waitMs: number },
): Promise<void> {
  await tx.run(sql`
    update item_jobs
       set waiting_for = ${waitingFor},
           waiting_until = clock_timestamp() + ${Math.round(waitMs)} * interval '1 millisecond'
     where tenant_id = ${tenantId}
       and job_id = ${jobId}`);
}

/** Adds to what the job has cost, and returns the sum. */
export async function addJobCost(tx: Tx, { tenantId, jobId }: JobKey, cost: number): Promise<number> {
  const row = await tx.find<{ cost: number }>(sql`
    update item_jobs
       set cost = coalesce(cost, 0) + ${cost}
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
    returning cost`);
  return row?.cost ?? cost;
}

/** Whether a row waits that a worker died with. */
export async function hasCrashedItem(tx: Tx, { tenantId, jobId }: JobKey): Promise<boolean> {
  const row = await tx.find<{ found: boolean }>(sql`
    select exists (
             select
               from job_items
              where tenant_id = ${tenantId}
                and job_id = ${jobId}
                and status = 'PENDING'
                and crashes > 0
                and due_at <= ${thisMoment}) as found`);
  return row?.found ?? false;
}

/** Claims one item whose worker died, alone. Such items have their own index, in another order. */
export function claimCrashedItem(tx: Tx, claim: Omit<ItemClaim, 'limit'>): Promise<ClaimedItem[]> {
  return lockItems(
    tx,
    claim,
    sql`
      select id
        from job_items
       where tenant_id = ${claim.tenantId}
         and job_id = ${claim.jobId}
         and status = 'PENDING'
         and crashes > 0
         and due_at <= ${thisMoment}
       order by id
       limit 1
         for update skip locked`,
  );
}

/** Counts the attempt at claim time: a crashed worker must still use one up. */
function lockItems(tx: Tx, claim: Omit<ItemClaim, 'limit'>, chosen: Sql): Promise<ClaimedItem[]> {
  return tx.rows<ClaimedItem>(sql`
    update job_items
       set status = 'PROCESSING',
           attempts = attempts + 1,
           locked_by = ${claim.workerId},
           lock_token = ${claim.lockToken},
           locked_at = clock_timestamp(),
           lock_expires_at = clock_timestamp() + ${claim.lockMs} * interval '1 millisecond',
           updated_at = clock_timestamp()
     where tenant_id = ${claim.tenantId}
       and job_id = ${claim.jobId}
       and id = any(array(${chosen}))
    returning ${claimedItem}`);
}

/**
 * Applies the new state of items. With a lock token only items that are still ours change: a late worker changes
 * nothing. Returns the ids that changed.
 */
export async function changeItems(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  { lockToken, changes }: { lockToken: string | null; changes: readonly ItemChange[] },
): Promise<number[]> {
  const column = <Key extends keyof ItemChange>(key: Key) => changes.map((change) => change[key]);
  const rows = await tx.rows<{ id: number }>(sql`
    update job_items j
       set status = c.status,
           result_json = case c.result
             when '' then j.result_json
             when '=' then j.input_json
             else c.result::json end,
           error_code = c.error_code,
           last_error = c.last_error,
           attempts = j.attempts + case
             when c.gives_back then -((${lockToken}::uuid is not null)::int)
             else (${lockToken}::uuid is null)::int - coalesce(j.uncharged, 0) end,
           uncharged = case when c.gives_back then j.uncharged end,
           strategy = j.strategy + c.next_strategy::int,
           progress_json = case when c.forgets_progress then null else j.progress_json end,
           waiting_for = c.waiting_for,
           throttled_count = case c.retry_class when 'throttled' then coalesce(j.throttled_count, 0) + 1
             else j.throttled_count end,
           not_found_count = case c.retry_class when 'not_found' then coalesce(j.not_found_count, 0) + 1
             else j.not_found_count end,
           due_at = case
             when c.delay_ms is null then '-infinity'
             else clock_timestamp() + c.delay_ms * interval '1 millisecond' end,
           locked_by = null,
           lock_token = null,
           locked_at = null,
           lock_expires_at = null,
           -- A row that is given back untouched still has its crashes: they are part of the key of its next call.
           crashes = case when c.gives_back then j.crashes else 0 end,
           updated_at = clock_timestamp()
      from unnest(${column('id')}::bigint[], ${column('status')}::text[], ${column('errorCode')}::text[],
                  ${column('lastError')}::text[], ${column('delayMs')}::bigint[],
                  ${column('givesAttemptBack')}::boolean[], ${column('nextStrategy')}::boolean[],
                  ${column('waitingFor')}::text[], ${column('retryClass')}::text[],
                  ${column('forgetsProgress')}::boolean[],
                  string_to_array(${lines(changes.map(resultText))}, ${'\n'}))
             as c (id, status, error_code, last_error, delay_ms, gives_back, next_strategy, waiting_for, retry_class,
                   forgets_progress, result)
     where j.tenant_id = ${tenantId}
       and j.job_id = ${jobId}
       -- Repeated: the planner may hash the whole job for the join, unless the ids themselves narrow the index scan.
       and j.id = any(${column('id')}::bigint[])
       and j.id = c.id
       and (${lockToken}::uuid is null or (j.status = 'PROCESSING' and j.lock_token = ${lockToken}::uuid))
    returning j.id`);
  return rows.map((row) => row.id);
}

/**
 * Stores how far rows have come, as long as they are ours. The next step begins with its first strategy. `changed` are
 * those that did not have it yet: after a COMMIT whose response was lost, there are none.
 */
export async function keepProgress(
  tx: Tx,
  { tenantId, jobId }: JobKey,
  { lockToken, progress }: { lockToken: string; progress: readonly { id: number; progressJson: string }[] },
): Promise<{ held: number[]; changed: number[] }> {
  const ids = progress.map(({ id }) => id);
  const changed = await tx.rows<{ id: number }>(sql`
    update job_items j
       set progress_json = c.progress::json,
           strategy = 0,
           updated_at = clock_timestamp()
      from unnest(${ids}::bigint[], ${progress.map(({ progressJson }) => progressJson)}::text[]) as c (id, progress)
     where j.tenant_id = ${tenantId}
       and j.job_id = ${jobId}
       and j.id = any(${ids}::bigint[])
       and j.id = c.id
       and j.status = 'PROCESSING'
       and j.lock_token = ${lockToken}
       and j.progress_json::text is distinct from c.progress
    returning j.id`);
  const held = await tx.rows<{ id: number }>(sql`
    select id
      from job_items
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and id = any(${ids}::bigint[])
       and status = 'PROCESSING'
       and lock_token = ${lockToken}`);
  return { held: held.map(({ id }) => id), changed: changed.map(({ id }) => id) };
}

/** The encoded result: empty, a mark that the input is the result, or the JSON itself, which is neither. */
function resultText({ resultJson, resultIsInput }: ItemChange): string {
  return resultIsInput ? '=' : (resultJson ?? '');
}

/**
 * Finishes items whose result is their input, for pure processors: the rows are locked by this transaction. Has the
 * same effect as `changeItems`, without a join.
 */
export async function finishUnchanged(
  tx: Tx,
  { tenantId, jobId, ids }: JobKey & { ids: readonly number[] },
): Promise<void> {
  await tx.run(sql`select finish_unchanged_items(${tenantId}, ${jobId}, ${ids}::bigint[])`);
}

/** Releases locks whose holder is dead or late: the items are pending again, and each is claimed alone. */
export async function releaseExpired(
  tx: Tx,
  { tenantId, jobId, limit }: JobKey & { limit: number },
): Promise<number> {
  return tx.run(sql`
    update job_items
       set status = 'PENDING',
           crashes = crashes + 1,
           -- A holder that is dead has used the attempt up. One that is late was cut off: no fault of the row.
           uncharged = case when lock_expires_at > '-infinity' then coalesce(uncharged, 0) + 1 else uncharged end,
           waiting_for = null,
           due_at = '-infinity',
           locked_by = null,
           lock_token = null,
           locked_at = null,
           lock_expires_at = null,
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and id = any(array(
         select id
           from job_items
          where tenant_id = ${tenantId}
            and job_id = ${jobId}
            and status = 'PROCESSING'
            and lock_expires_at < ${thisMoment}
          limit ${limit}
            for update skip locked))`);
}

/** For workers that are dead, and not only cut off for a moment: their locks expire now. */
export async function expireLocksOf(tx: Tx, workerIds: readonly string[]): Promise<JobKey[]> {
  return tx.rows<JobKey>(sql`
    with freed as (
      update job_items
         set lock_expires_at = '-infinity'
       where status = 'PROCESSING'
         and locked_by = any(${workerIds}::uuid[])
         and not exists (select from workers w where w.worker_id = locked_by and w.lost_at is null)
      returning tenant_id, job_id
    )
    select distinct tenant_id as "tenantId", job_id as "jobId" from freed`);
}

/** How long until there may be something to claim: a retry is due, or a lock expires. Null: nothing is open. */
export async function readNextDue(tx: Tx, { tenantId, jobId }: JobKey): Promise<number | null> {
  const row = await tx.find<{ waitMs: number | null }>(sql`
    select extract(epoch from greatest(next.at, next.now) - next.now)::float8 * 1000 as "waitMs"
      from (select clock_timestamp() as now, least(
                     (select due_at
                        from job_items
                       where tenant_id = ${tenantId} and job_id = ${jobId} and status = 'PENDING'
                       order by due_at, id
                       limit 1),
                     (select lock_expires_at
                        from job_items
                       where tenant_id = ${tenantId} and job_id = ${jobId} and status = 'PROCESSING'
                       order by lock_expires_at
                       limit 1)) as at) next
     where next.at is not null`);
  return row?.waitMs ?? null;
}

/** For a holder that needs more time. Returns zero when it no longer holds the lock. */
export async function renewLocks(
  tx: Tx,
  { tenantId, jobId, lockToken, lockMs }: JobKey & { lockToken: string; lockMs: number },
): Promise<number> {
  return tx.run(sql`
    update job_items
       set lock_expires_at = clock_timestamp() + ${lockMs} * interval '1 millisecond'
     where tenant_id = ${tenantId}
       and job_id = ${jobId}
       and status = 'PROCESSING'
       and lock_token = ${lockToken}`);
}

export async function insertProviderCalls(
  tx: Tx,
  calls: readonly (JobKey & {
    itemIds: number[];
    provider: string;
    strategy: string;
    status: number | null;
    outcome: string;
    error: string | null;
    tookMs: number;
    userId: string;
    cost: number | null;
    tokens: number | null;
  })[],
): Promise<void> {
  if (calls.length === 0) return;
  await tx.run(sql`
    insert into search_events (
      tenant_id, job_id, item_ids, provider, strategy, status, outcome, error, took_ms, user_id, cost, tokens)
    select c."tenantId", c."jobId", c."itemIds", c.provider, c.strategy, c.status, c.outcome, c.error, c."tookMs",
           c."userId", c.cost, c.tokens
      from jsonb_to_recordset(${JSON.stringify(calls)}::jsonb) as c (
        "tenantId" text, "jobId" uuid, "itemIds" bigint[], provider text, strategy text, status integer, outcome text,
        error text, "tookMs" integer, "userId" text, cost double precision, tokens integer)`);
}

import { expect } from 'vitest';
import { type ArrangedEndpoint, type Expected, tenants } from './arranged.ts';
import type { Installation } from './installation.ts';

// What is in the database, read behind the back of all programs.

interface FoundJob {
  tenantId: string;
  jobId: string;
  status: string;
  isOpen: boolean;
}

function listAllJobs(installation: Installation): Promise<FoundJob[]> {
  return installation.query<FoundJob>(
    `select tenant_id as "tenantId", job_id as "jobId", status,
            status not in ('success', 'dead_letter', 'canceled') or cleanup_open as "isOpen"
       from ingestion_jobs`,
  );
}

export async function countOpen(installation: Installation): Promise<number> {
  return (await listAllJobs(installation)).filter(({ isOpen }) => isOpen).length;
}

/** Every job is there exactly once. Those that have ended did so as expected, and nothing else is there. */
export async function expectJobs(
  installation: Installation,
  { ends, known }: { ends: Expected; known: Iterable<string> },
): Promise<void> {
  const found = await listAllJobs(installation);
  const ids = found.map(({ jobId }) => jobId);
  expect(new Set(ids).size, 'jobs that are there twice').toBe(ids.length);
  const all = new Set([...ends.keys(), ...known]);
  expect(
    [...all].filter((id) => !new Set(ids).has(id)),
    'lost jobs',
  ).toEqual([]);
  const wrong = found.filter(({ jobId, status, isOpen }) => {
    const end = ends.get(jobId);
    return end !== undefined && (isOpen || status !== end);
  });
  expect(wrong.slice(0, 5), 'jobs that ended in another way').toEqual([]);
}

interface FoundEvent {
  eventId: string;
  subject: string;
}

/** What each endpoint has to get: everything after the place where its cursor stood first. */
export async function expectDeliveries(
  installation: Installation,
  endpoints: readonly ArrangedEndpoint[],
): Promise<number> {
  let count = 0;
  for (const { tenantId, webhookId, xid, eventId } of endpoints) {
    const owed = await installation.query<FoundEvent>(
      `select event_id as "eventId", subject
         from events
        where tenant_id = $1
          and ((xid, event_id) > ($2::text::xid8, $3::bigint) or event_id > $3::bigint)
          and type not like 'webhook.%'
          -- Arranged as pending: it lies before the cursor.
          and not exists (
            select from webhook_deliveries d
             where d.tenant_id = $1 and d.webhook_id = $4 and d.event_id = events.event_id and d.tries = 5)
        order by event_id`,
      [tenantId, xid, eventId, webhookId],
    );
    const made = await installation.query<FoundDelivery>(
      `select event_id as "eventId", lane as subject, event_xid::text as xid
         from webhook_deliveries
        where tenant_id = $1 and webhook_id = $2 and tries = 0
        order by delivery_id`,
      [tenantId, webhookId],
    );
    const inOrder = [...made].sort((a, b) => Number(a.eventId) - Number(b.eventId));
    const found = inOrder.map(({ eventId, subject }) => ({ eventId, subject }));
    expect(found, `deliveries of ${tenantId} after ${xid}/${eventId}`).toEqual(owed);
    expect(outOfOrder(made), 'deliveries made after later ones of their subject').toEqual([]);
    count += made.length;
  }
  return count;
}

interface FoundDelivery extends FoundEvent {
  xid: string;
}

/** In neither order: the new version's is that of event_id, the version before it had (xid, event_id). */
function outOfOrder(made: readonly FoundDelivery[]): FoundDelivery[] {
  const last = new Map<string, FoundDelivery>();
  return made.filter((delivery) => {
    const before = last.get(delivery.subject);
    last.set(delivery.subject, delivery);
    if (before === undefined || Number(delivery.eventId) > Number(before.eventId)) return false;
    return BigInt(delivery.xid) < BigInt(before.xid);
  });
}

/** Every job that was dispatched by a program has its first event in the log. */
export async function expectEvents(installation: Installation, jobs: Iterable<string>): Promise<void> {
  const rows = await installation.query<{ subject: string }>(
    `select distinct subject from events where tenant_id = any($1) and type = 'job.queued'`,
    [tenants],
  );
  const told = new Set(rows.map(({ subject }) => subject));
  expect(
    [...jobs].filter((id) => !told.has(id)),
    'jobs without an event',
  ).toEqual([]);
}

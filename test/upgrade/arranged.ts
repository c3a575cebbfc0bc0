import { newId } from '../../src/lib/ids.ts';
import type { Installation } from './installation.ts';

export const tenants = ['acme', 'borg', 'cyan'];
export const pipelines = ['probe', 'probe_b', 'shared'];

/** What a job may be like: its columns as SQL, and what has to become of it when it is driven to its end. */
interface Shape {
  columns: Record<string, string>;
  end: 'success' | 'dead_letter' | 'canceled';
  only?: 'shared' | 'own';
}

const started = { started_at: "now() - interval '3 hours'" };
const ended = { ...started, finished_at: "now() - interval '1 hour'" };
const lease = (worker: string, expires: string) => ({
  ...{ ...started, status: "'running'", lease_epoch: '3', leased_by: `'${worker}'` },
  lease_expires_at: expires,
});

/** Of a worker that is not listed any more. */
const deadWorker = newId();

/** Every state of a job, with what it needs to be in it. */
function shapes(liveWorker: string): Record<string, Shape> {
  return {
    queued: { columns: {}, end: 'success' },
    queuedLater: { columns: { run_at: "now() + interval '2 seconds'" }, end: 'success' },
    runningBetweenSlices: { columns: { ...started, status: "'running'" }, end: 'success' },
    leased: { columns: lease(liveWorker, "now() + interval '10 minutes'"), end: 'success', only: 'own' },
    expired: { columns: lease(deadWorker, "now() - interval '1 minute'"), end: 'success', only: 'own' },
    pausedBeforeStart: { columns: { status: "'paused'" }, end: 'success' },
    paused: { columns: { ...started, status: "'paused'" }, end: 'success' },
    failed: {
      columns: {
        ...started,
        ...{ status: "'failed'", retry_count: '1', error_code: "'probe_failed'" },
        ...{ run_at: "now() + interval '2 seconds'", next_retry_at: "now() + interval '2 seconds'" },
      },
      end: 'success',
      only: 'own',
    },
    struck: {
      columns: { ...started, status: "'running'", struck_by: `array['${deadWorker}'::uuid]` },
      end: 'success',
      only: 'own',
    },
    toCleanUp: {
      columns: { ...ended, status: "'canceled'", cleanup_open: 'true', error_code: "'canceled'" },
      end: 'canceled',
      only: 'own',
    },
    deadLetter: {
      columns: { ...ended, status: "'dead_letter'", error_code: "'probe_failed'" },
      end: 'dead_letter',
    },
    success: { columns: { ...ended, status: "'success'" }, end: 'success' },
    canceled: { columns: { ...ended, status: "'canceled'", error_code: "'canceled'" }, end: 'canceled' },
  };
}

/** Jobs that must be there afterwards, with the status in which they have to end. */
export type Expected = Map<string, Shape['end']>;

/** So many jobs of every shape in every lane, each with its event. */
export async function arrangeJobs(
  installation: Installation,
  { liveWorker, count }: { liveWorker: string; count: number },
): Promise<Expected> {
  const expected: Expected = new Map();
  for (const tenantId of tenants) {
    for (const pipeline of pipelines) {
      for (const [name, shape] of Object.entries(shapes(liveWorker))) {
        const isShared = pipeline === 'shared';
        if (shape.only === (isShared ? 'own' : 'shared')) continue;
        const ids = Array.from({ length: count }, () => newId());
        for (const id of ids) expected.set(id, shape.end);
        const columns = { shared: String(isShared), ...shape.columns };
        await installation.query(
          `with made as (
             insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, created_by, correlation_id,
                                         ${Object.keys(columns).join(', ')})
             select $1, n.id, $2, $3 || n.id, 'arranged', 'arranged', ${Object.values(columns).join(', ')}
               from unnest($4::uuid[]) n (id)
             returning *)
           insert into events (tenant_id, type, subject, data)
           select m.tenant_id, 'job.queued', m.job_id::text, '{}' from made m`,
          [tenantId, pipeline, `${name} `, ids],
        );
      }
    }
  }
  return expected;
}

export interface ArrangedEndpoint {
  tenantId: string;
  webhookId: string;
  /** Where its cursor stood in the order of the version before. */
  xid: string;
  eventId: string;
}

/**
 * Endpoints whose cursors are at the beginning, in the middle and at the end. Of what lies just before the one in the
 * middle, some deliveries are still pending.
 */
export async function arrangeEndpoints(installation: Installation): Promise<ArrangedEndpoint[]> {
  const made: ArrangedEndpoint[] = [];
  for (const tenantId of tenants) {
    const events = await installation.query<{ xid: string; eventId: string; subject: string }>(
      `select xid::text as xid, event_id as "eventId", subject from events where tenant_id = $1 order by xid, event_id`,
      [tenantId],
    );
    const middle = Math.floor(events.length / 2);
    for (const at of tenantId === 'cyan' ? [events.length - 1] : [-1, middle, events.length - 1]) {
      const { xid, eventId } = events[at] ?? { xid: '0', eventId: '0' };
      const webhookId = newId();
      made.push({ tenantId, webhookId, xid, eventId });
      await installation.query(
        `insert into webhook_endpoints (tenant_id, webhook_id, url, secret, created_by)
         values ($1, $2, 'https://example.com/hook', 'secret', 'arranged')`,
        [tenantId, webhookId],
      );
      await installation.query(
        `insert into webhook_cursors (tenant_id, webhook_id, xid, event_id, since)
         values ($1, $2, $3::text::xid8, $4, '1:1:')`,
        [tenantId, webhookId, xid, eventId],
      );
      if (at === middle)
        await arrangePending(installation, { tenantId, webhookId }, events.slice(at - 9, at + 1));
    }
  }
  return made;
}

async function arrangePending(
  installation: Installation,
  { tenantId, webhookId }: { tenantId: string; webhookId: string },
  events: { xid: string; eventId: string; subject: string }[],
): Promise<void> {
  for (const { xid, eventId, subject } of events) {
    await installation.query(
      `insert into webhook_deliveries (tenant_id, webhook_id, delivery_id, event_xid, event_id, event_type, lane, tries)
       values ($1, $2, $3, $4::text::xid8, $5, 'job.queued', $6, 5)`,
      [tenantId, webhookId, newId(), xid, eventId, subject],
    );
    await installation.query(
      'insert into webhook_lanes (tenant_id, webhook_id, lane) values ($1, $2, $3) on conflict do nothing',
      [tenantId, webhookId, subject],
    );
  }
}

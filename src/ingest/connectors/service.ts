import type { BeforeCommit, JobsDeps } from '../../kernel/jobs/dispatch/service.ts';
import { findActive } from '../../kernel/jobs/store.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import { findScheduleProblem } from '../../kernel/schedule/check.ts';
import {
  effectiveCadenceHours,
  jitterMs,
  mostJitterMs,
  planCadences,
  previewTicks,
  replannedTick,
} from '../../kernel/schedule/ticks.ts';
import type { Principal } from '../../kernel/tenancy/types.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { canonicalConnectionId } from './connection-id.ts';
import { connectorErrors } from './errors.ts';
import { lockPlanned, saveSchedule } from './schedule/store.ts';
import {
  deleteConnector,
  findConnector,
  insertConnector,
  lockConnector,
  readPlan,
  updateConnector,
} from './store.ts';
import { dispatchSyncIn, type SyncRequest } from './sync/dispatch.ts';
import { type Connector, type ConnectorKey, type EnrolmentMode, pipelineName } from './types.ts';

type Chosen = Pick<
  Connector,
  'enabled' | 'cadenceHours' | 'cron' | 'timeZone' | 'minIntervalSeconds' | 'onActiveSync'
>;

export type ConnectorWish = Pick<Connector, 'name' | 'airbyteConnectionId' | 'externalAccountId'> & {
  [Name in keyof Chosen]?: Chosen[Name] | undefined;
} & { connectorId?: string | undefined; airbyteServer?: string | undefined };

const hourMs = 3_600_000;

/** In a shared workspace a guessed id would reveal another tenant's connection: there the operator assigns them. */
export function assertMayEnrol(mode: EnrolmentMode, { role }: Principal): void {
  if (mode === 'open' || role === 'operator') return;
  throw connectorErrors.raise.enrolment_by_operator(
    'Connections of this installation are assigned by the operator (CONNECTOR_ENROLMENT=operator)',
  );
}

export async function createConnector(
  { db }: { db: Database },
  { tenantId, createdBy, workspaceId }: { tenantId: string; createdBy: string; workspaceId: string | null },
  wish: ConnectorWish,
  beforeCommit?: BeforeCommit<Connector>,
): Promise<Connector> {
  const connectorId = wish.connectorId ?? newId();
  return db
    .tenant(tenantId, async (tx) => {
      await enrol(tx, { tenantId, connectorId }, { ...wish, createdBy, workspaceId });
      const connector = await getIn(tx, { tenantId, connectorId });
      await beforeCommit?.(tx, connector);
      return connector;
    })
    .catch((error: unknown) => {
      throw taken(error, { connectorId }) ?? error;
    });
}

async function enrol(
  tx: Tx,
  key: ConnectorKey,
  wish: ConnectorWish & { createdBy: string; workspaceId: string | null },
): Promise<void> {
  const plan = (await readPlan(tx, key.tenantId)) ?? 'free';
  const { cadenceHours = null, cron = null, timeZone = 'UTC' } = wish;
  const jitter = Math.random();
  const scheduled = { cadenceHours, cron, timeZone, plan, jitter };
  assertSchedule(scheduled);
  await insertConnector(tx, {
    ...key,
    name: wish.name,
    airbyteConnectionId: canonicalConnectionId(wish.airbyteConnectionId),
    airbyteServer: wish.airbyteServer ?? null,
    airbyteWorkspaceId: wish.workspaceId,
    externalAccountId: wish.externalAccountId,
    enabled: wish.enabled ?? true,
    cadenceHours,
    cron,
    timeZone,
    minIntervalSeconds: wish.minIntervalSeconds ?? null,
    onActiveSync: wish.onActiveSync ?? 'adopt',
    jitter,
    firstSyncInMs: firstSyncInMs(scheduled),
    plan,
    createdBy: wish.createdBy,
  });
}

function firstSyncInMs(scheduled: Parameters<typeof previewTicks>[0]): number {
  if (scheduled.cron === null) return effectiveCadenceHours(scheduled) * hourMs + jitterMs(scheduled);
  const now = new Date();
  return (previewTicks(scheduled, { now, count: 1 })[0]?.getTime() ?? 0) - now.getTime();
}

/** Refuses what cannot be scheduled, and what the plan does not allow. */
function assertSchedule(connector: Pick<Connector, 'cadenceHours' | 'cron' | 'timeZone' | 'plan'>): void {
  const problem = findScheduleProblem(connector, 'sync');
  if (problem === null) return;
  const { code, message, details, fields } = problem;
  throw connectorErrors.raise[code](message, { details, fields });
}

/** Does not name the other owner: it may be another tenant. */
function taken(error: unknown, { connectorId }: { connectorId: string }): Error | null {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (code !== '23505') return null;
  if (constraint === 'ix_connectors_airbyte_connection') {
    return connectorErrors.raise.connection_taken('This Airbyte connection is already enrolled');
  }
  return constraint === 'connectors_pkey'
    ? connectorErrors.raise.connector_exists(`A connector ${connectorId} already exists`)
    : null;
}

export function getConnector({ db }: { db: Database }, key: ConnectorKey): Promise<Connector> {
  return db.tenant(key.tenantId, (tx) => getIn(tx, key));
}

async function getIn(tx: Tx, key: ConnectorKey): Promise<Connector> {
  const connector = await findConnector(tx, key);
  if (connector) return connector;
  throw connectorErrors.raise.connector_not_found(`There is no connector ${key.connectorId}`);
}

export type ConnectorPatch = Partial<
  Omit<ConnectorWish, 'connectorId' | 'airbyteConnectionId' | 'airbyteServer'>
>;

export function changeConnector(
  { db }: { db: Database },
  key: ConnectorKey,
  patch: ConnectorPatch,
): Promise<Connector> {
  return db.tenant(key.tenantId, async (tx) => {
    await lockConnector(tx, key);
    const before = await getIn(tx, key);
    const after = { ...before, ...scheduleOf(patch), ...definedOf(patch) };
    const isRescheduled = (['cadenceHours', 'cron', 'timeZone'] as const).some(
      (name) => after[name] !== before[name],
    );
    if (isRescheduled) assertSchedule(after);
    await updateConnector(tx, after);
    if (isRescheduled || (after.enabled && !before.enabled)) await replan(tx, key);
    return getIn(tx, key);
  });
}

/** A new cadence replaces an expression, and the other way round. */
function scheduleOf({ cadenceHours, cron }: ConnectorPatch): Partial<Connector> {
  if (cron) return { cadenceHours: null };
  return cadenceHours ? { cron: null } : {};
}

function definedOf(patch: ConnectorPatch): Partial<Connector> {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
}

async function replan(tx: Tx, key: ConnectorKey): Promise<void> {
  const planned = await lockPlanned(tx, key);
  if (planned === null) return;
  const { now, lastTickAt, plan: plannedFor } = planned;
  await saveSchedule(tx, key, { nextSyncAt: replannedTick(planned, now), lastTickAt, plannedFor });
}

/** Its history stays. Refused while a sync is active: nothing could explain that sync afterwards. */
export function removeConnector({ db }: { db: Database }, key: ConnectorKey): Promise<void> {
  return db.tenant(key.tenantId, async (tx) => {
    await lockConnector(tx, key);
    await getIn(tx, key);
    const { tenantId, connectorId: subjectId } = key;
    const active = await findActive(tx, { tenantId, pipeline: pipelineName, subjectId });
    if (active) {
      throw connectorErrors.raise.connector_busy(
        `Connector ${subjectId} has the active job ${active.jobId} (${active.status})`,
        { details: { active_job_id: active.jobId } },
      );
    }
    await deleteConnector(tx, key);
  });
}

export async function syncNow(
  deps: JobsDeps,
  key: ConnectorKey,
  request: SyncRequest,
  beforeCommit?: BeforeCommit<Job>,
): Promise<Job> {
  await deps.quotas.assertRoom(key.tenantId);
  return deps.db.tenant(key.tenantId, async (tx) => {
    const connector = await getIn(tx, key);
    if (!connector.enabled) {
      throw connectorErrors.raise.connector_disabled(`Connector ${key.connectorId} is disabled`);
    }
    const job = await dispatchSyncIn(deps, tx, connector, request);
    await beforeCommit?.(tx, job);
    return job;
  });
}

const previewed = 5;

/** The next syncs of a schedule that is not saved yet; refused like the schedule itself. */
export async function previewSchedule(
  { db }: { db: Database },
  tenantId: string,
  wish: Pick<Connector, 'cadenceHours' | 'cron' | 'timeZone'>,
): Promise<{ ticks: Date[]; minimumHours: number; mostJitterMs: number }> {
  const plan = (await db.read(tenantId, (tx) => readPlan(tx, tenantId))) ?? 'free';
  assertSchedule({ ...wish, plan });
  const ticks = previewTicks({ ...wish, plan, jitter: 0 }, { now: new Date(), count: previewed });
  return {
    ticks,
    minimumHours: planCadences[plan].minimumHours,
    mostJitterMs: mostJitterMs({ ...wish, plan }),
  };
}

import type { FileDoor, FilePlaceDoor, ReportTarget } from '../../kernel/house/doors.ts';
import type { BeforeCommit, JobsDeps } from '../../kernel/jobs/dispatch/service.ts';
import { findActive } from '../../kernel/jobs/store.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import { findScheduleProblem } from '../../kernel/schedule/check.ts';
import {
  effectiveCadenceHours,
  jitterMs,
  previewTicks,
  replannedTick,
  type Scheduled,
} from '../../kernel/schedule/ticks.ts';
import type { SecretLender } from '../../kernel/secrets/types.ts';
import type { Role } from '../../kernel/tenancy/types.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { dispatchPullIn, type PullRequest } from './dispatch.ts';
import { sourceErrors, sourceScheduleErrors } from './errors.ts';
import { dayIn, daysIn } from './places/days.ts';
import { assertSecrets, isFilePlace } from './places/secrets.ts';
import { lockPlanned, saveSchedule } from './schedule/store.ts';
import {
  countSources,
  deleteSource,
  findSource,
  insertSource,
  lockSource,
  readPlan,
  updateSource,
} from './store.ts';
import {
  type DayRange,
  type Place,
  pipelineName,
  type Source,
  type SourceKey,
  type SourceSettings,
} from './types.ts';

export interface SourceDeps extends JobsDeps {
  secrets: SecretLender;
  reports: FileDoor<ReportTarget>;
  filePlaces: FilePlaceDoor;
  /** Why an address may not be reached; null when nothing speaks against it. */
  findRefusal(url: string): Promise<string | null>;
  uploadSourceMaxCount: number;
}

export interface Creator {
  tenantId: string;
  createdBy: string;
  role: Role;
}

export type SourceWish = Pick<SourceSettings, 'name' | 'workspaceId' | 'place'> &
  Partial<Omit<SourceSettings, 'name' | 'workspaceId' | 'place'>>;
export type SourcePatch = Partial<Omit<SourceSettings, 'workspaceId' | 'platform'>>;

const hourMs = 3_600_000;
/** Most platforms count conversions up to four weeks after the click. */
const usualRestateDays = 28;
const maxPulledDays = 400;

export async function createSource(
  deps: SourceDeps,
  { tenantId, createdBy, role }: Creator,
  wish: SourceWish,
  beforeCommit?: BeforeCommit<Source>,
): Promise<Source> {
  const settings = settingsOf(wish);
  await assertUsable(deps, { tenantId, role, settings });
  const key = { tenantId, sourceId: newId() };
  return deps.db
    .tenant(tenantId, async (tx) => {
      const limit = deps.uploadSourceMaxCount;
      if ((await countSources(tx, { tenantId, limit })) >= limit) {
        throw sourceErrors.raise.source_limit_reached(`The tenant has ${limit} sources, the most allowed`);
      }
      const plan = await readPlan(tx, tenantId);
      const scheduled = { ...settings, plan, jitter: Math.random() };
      assertSchedule(scheduled);
      await insertSource(tx, { ...key, ...scheduled, createdBy, firstPullInMs: firstPullInMs(scheduled) });
      const source = await getIn(tx, key);
      await beforeCommit?.(tx, source);
      return source;
    })
    .catch((error: unknown) => {
      throw taken(error, wish.name) ?? error;
    });
}

/** Fills in what is left out. */
function settingsOf(wish: SourceWish): SourceSettings {
  const { place } = wish;
  const own = place.kind === 'url' || isFilePlace(place) ? undefined : place.kind;
  const platform = wish.platform ?? own;
  if (platform === undefined || (own !== undefined && platform !== own)) {
    const message =
      own === undefined
        ? 'is needed: a file does not say which platform it is of'
        : `must be ${own}, or be left out`;
    throw sourceErrors.raise.source_invalid(`The platform ${message}`, {
      fields: [{ pointer: '/platform', message }],
    });
  }
  return {
    clientId: null,
    restateDays: usualRestateDays,
    enabled: true,
    cadenceHours: null,
    cron: null,
    timeZone: 'UTC',
    ...definedOf(wish),
    ...{ name: wish.name, workspaceId: wish.workspaceId, place, platform },
  };
}

function definedOf<T extends object>(patch: T): Partial<T> {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** Refuses now what would make every pull fail. */
async function assertUsable(
  deps: SourceDeps,
  { tenantId, role, settings }: { tenantId: string; role: Role; settings: SourceSettings },
): Promise<void> {
  const { place, platform, workspaceId, clientId } = settings;
  await deps.reports.check(tenantId, { platform, workspaceId, clientId });
  await assertPlace(deps, { tenantId, role, place });
}

async function assertPlace(
  deps: SourceDeps,
  { tenantId, role, place }: { tenantId: string; role: Role; place: Place },
): Promise<void> {
  if (isFilePlace(place)) {
    await deps.filePlaces.check({ tenantId, role }, place);
    return;
  }
  const address = place.kind === 'url' ? place.url : place.endpoint;
  const refusal = await deps.findRefusal(address.replaceAll(/[{}]/g, ''));
  if (refusal !== null) {
    const pointer = place.kind === 'url' ? '/place/url' : '/place/endpoint';
    throw sourceErrors.raise.source_invalid(`The address of the source cannot be used: ${refusal}`, {
      fields: [{ pointer, message: refusal }],
    });
  }
  await assertSecrets(deps.secrets, { tenantId, role, place });
}

function assertSchedule(wanted: Scheduled): void {
  const problem = findScheduleProblem(wanted, 'pull');
  if (problem === null) return;
  const { code, message, details, fields } = problem;
  throw sourceScheduleErrors.raise[`pull_${code}`](message, { details, fields });
}

function firstPullInMs(scheduled: Scheduled): number {
  if (scheduled.cron === null) return effectiveCadenceHours(scheduled) * hourMs + jitterMs(scheduled);
  const now = new Date();
  return (previewTicks(scheduled, { now, count: 1 })[0]?.getTime() ?? 0) - now.getTime();
}

function taken(error: unknown, name: string): Error | null {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (code !== '23505' || constraint !== 'ux_upload_sources_name') return null;
  return sourceErrors.raise.source_exists(`A source named ${JSON.stringify(name)} exists already`, {
    fields: [{ pointer: '/name', message: 'is taken by another source' }],
  });
}

export function getSource({ db }: { db: Database }, key: SourceKey): Promise<Source> {
  return db.read(key.tenantId, (tx) => getIn(tx, key));
}

async function getIn(tx: Tx, key: SourceKey): Promise<Source> {
  const source = await findSource(tx, key);
  if (source) return source;
  throw sourceErrors.raise.source_not_found(`There is no source ${key.sourceId}`);
}

export async function changeSource(
  deps: SourceDeps,
  { role, ...key }: SourceKey & { role: Role },
  patch: SourcePatch,
): Promise<Source> {
  const current = await getSource(deps, key);
  const place = patch.place ?? current.place;
  if (place.kind !== current.place.kind) {
    throw sourceErrors.raise.source_invalid('The kind of a source cannot be changed', {
      fields: [{ pointer: '/place/kind', message: `must stay ${current.place.kind}; create another source` }],
    });
  }
  if (patch.place !== undefined) await assertPlace(deps, { tenantId: key.tenantId, role, place });
  return deps.db
    .tenant(key.tenantId, async (tx) => {
      await lockSource(tx, key);
      const before = await getIn(tx, key);
      const after = { ...before, ...scheduleOf(patch), ...definedOf(patch) };
      const isRescheduled = (['cadenceHours', 'cron', 'timeZone'] as const).some(
        (name) => after[name] !== before[name],
      );
      if (isRescheduled) assertSchedule(after);
      await updateSource(tx, after, {
        isMoved: JSON.stringify(after.place) !== JSON.stringify(before.place),
      });
      if (isRescheduled || (after.enabled && !before.enabled)) await replan(tx, key);
      return getIn(tx, key);
    })
    .catch((error: unknown) => {
      throw taken(error, patch.name ?? '') ?? error;
    });
}

/** A new cadence replaces an expression, and the other way round. */
function scheduleOf({ cadenceHours, cron }: SourcePatch): SourcePatch {
  if (cron) return { cadenceHours: null };
  return cadenceHours ? { cron: null } : {};
}

async function replan(tx: Tx, key: SourceKey): Promise<void> {
  const planned = await lockPlanned(tx, key);
  if (planned === null) return;
  const { now, lastTickAt, plan: plannedFor } = planned;
  await saveSchedule(tx, key, { nextPullAt: replannedTick(planned, now), lastTickAt, plannedFor });
}

/** Its uploads stay. Refused while a pull is active: nothing could explain that pull afterwards. */
export function removeSource({ db }: { db: Database }, key: SourceKey): Promise<void> {
  return db.tenant(key.tenantId, async (tx) => {
    await lockSource(tx, key);
    const { name } = await getIn(tx, key);
    const active = await findActive(tx, {
      tenantId: key.tenantId,
      pipeline: pipelineName,
      subjectId: key.sourceId,
    });
    if (active) {
      throw sourceErrors.raise.source_busy(`The source ${name} has the active job ${active.jobId}`, {
        details: { active_job_id: active.jobId },
      });
    }
    await deleteSource(tx, key);
  });
}

export async function pullNow(
  deps: JobsDeps,
  key: SourceKey,
  request: PullRequest,
  beforeCommit?: BeforeCommit<Job>,
): Promise<Job> {
  await deps.quotas.assertRoom(key.tenantId);
  return deps.db.tenant(key.tenantId, async (tx) => {
    const source = await getIn(tx, key);
    if (request.range !== undefined) assertRange(request.range, source);
    const job = await dispatchPullIn(deps, tx, source, request);
    await beforeCommit?.(tx, job);
    return job;
  });
}

/** Returns undefined when no day is given. */
export function rangeOf(given: {
  date_from?: string | undefined;
  date_to?: string | undefined;
}): DayRange | undefined {
  const { date_from: from, date_to: to } = given;
  if (from === undefined && to === undefined) return undefined;
  if (from !== undefined && to !== undefined) return { from, to };
  const missing = from === undefined ? 'date_from' : 'date_to';
  throw sourceErrors.raise.pull_range_invalid('Only one end of the days is given', {
    fields: [{ pointer: `/${missing}`, message: 'date_from and date_to are given together or not at all' }],
  });
}

function assertRange(range: DayRange, { timeZone }: Source): void {
  const today = dayIn(timeZone, new Date());
  const message =
    range.from > range.to
      ? 'must not be before date_from'
      : range.to > today
        ? `must not be after ${today}, which is today in ${timeZone}`
        : daysIn(range) > maxPulledDays
          ? `must be at most ${maxPulledDays} days after date_from`
          : null;
  if (message === null) return;
  throw sourceErrors.raise.pull_range_invalid('The days of the pull are invalid', {
    fields: [{ pointer: '/date_to', message }],
  });
}

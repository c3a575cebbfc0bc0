import type { Claim, JobState, LaneState, PipelineName } from './job-store.ts';
import { isOpen, type SimulatedState, type SimulatedTenant } from './simulated-state.ts';

/** What a tenant has waiting in one pipeline, and its place in the line. */
export interface SimulatedLane extends LaneState {
  nextDueMs: number;
  /** Its jobs wait for room or for other jobs of its tenant: the end of one wakes it. */
  isLimited: boolean;
  /** Somebody told of work since the last claim. */
  hasNews: boolean;
  /** Until then it may stay in line with nothing to take. */
  lingersUntilMs: number;
}

/** How long a lane that had work lately may stay in line: it saves the database writes. */
const lingerMs = 1_000;

/** Every change of a job goes through here: what makes it claimable, or frees room, wakes lanes. */
export function changeJob(state: SimulatedState, job: JobState, change: () => void): void {
  const { status, runAtMs, cleanupOpen, leasedBy, struckBy } = job;
  change();
  const wasMoved =
    leasedBy !== null ||
    status !== job.status ||
    runAtMs !== job.runAtMs ||
    cleanupOpen !== job.cleanupOpen ||
    struckBy.length !== job.struckBy.length;
  if (wasMoved && isOpen(job)) noteWork(state, job);
  const freesRoom = status !== job.status || (leasedBy !== null && job.leasedBy === null);
  if (freesRoom) noteRoom(state, tenantOf(state, job));
}

/** A job of this lane may be taken when it is due. */
export function noteWork(state: SimulatedState, job: JobState): void {
  const lane = laneOf(tenantOf(state, job), job.pipeline);
  lane.nextDueMs = Math.min(lane.nextDueMs, job.runAtMs);
  lane.hasNews = true;
}

/** What had to wait for room or for another job may start now. */
export function noteRoom(state: SimulatedState, { lanes }: SimulatedTenant): void {
  for (const lane of lanes.values()) {
    if (!lane.isLimited) continue;
    lane.nextDueMs = Math.min(lane.nextDueMs, state.nowMs);
    lane.hasNews = true;
  }
}

/** Lanes whose work has come due join the line, before all that wait. */
export function wakeLanes(state: SimulatedState, pipelines: readonly PipelineName[]): void {
  const lanes = allLanes(state);
  const waiting = lanes.filter(({ isDue }) => isDue);
  for (const lane of lanes) {
    if (lane.hasNews) lane.lingersUntilMs = Math.max(lane.lingersUntilMs, state.nowMs + lingerMs);
    lane.hasNews = false;
    if (lane.isDue || lane.nextDueMs > state.nowMs) continue;
    const ahead = waiting.filter(
      ({ pipeline }) => pipeline === lane.pipeline || pipelines.includes(pipeline),
    );
    if (ahead.length > 0) lane.pass = Math.min(...ahead.map(({ pass }) => pass)) - 1;
    lane.isDue = true;
    lane.isLimited = false;
  }
}

/** The line: whose turn it is, of the lanes that a claim asks for. */
export function listTurns(state: SimulatedState, { pipelines, tenantId }: Claim): SimulatedLane[] {
  const due = allLanes(state).filter(
    (lane) =>
      lane.isDue &&
      pipelines.includes(lane.pipeline) &&
      (tenantId === undefined || lane.tenantId === tenantId),
  );
  const byName = (a: SimulatedLane, b: SimulatedLane) =>
    compare(a.tenantId, b.tenantId) || compare(a.pipeline, b.pipeline);
  if (state.breakage === 'turns by tenant id') return due.sort(byName);
  return due.sort((a, b) => a.pass - b.pass || byName(a, b));
}

/** The lane goes behind all that wait, its tenant's other lanes right before it when the tenant had its turn. */
export function endTurn(
  { lanes }: SimulatedTenant,
  { lane, lastPass, taken }: { lane: SimulatedLane; lastPass: number; taken: number },
): void {
  for (const other of lanes.values()) {
    if (other !== lane && taken === 0) continue;
    other.pass = Math.max(other.pass, lastPass) + Math.max(taken, 1) + (other === lane ? 1 : 0);
  }
}

/** Something else has to end before more of the lane can be taken. */
export function limitLane(state: SimulatedState, lane: SimulatedLane, waitMs: number): void {
  lane.isDue = false;
  lane.isLimited = true;
  lane.nextDueMs = state.nowMs + waitMs;
}

/** What becomes of a lane of which everything that may start now was taken. */
export function restLane(state: SimulatedState, lane: SimulatedLane, { spared, lingering }: Claim): void {
  const { jobs } = tenantOf(state, lane);
  const left = jobs.filter(
    (job) => job.pipeline === lane.pipeline && isOpen(job) && job.struckBy.length === 0,
  );
  const nextDueMs = Math.min(...left.map(({ runAtMs }) => runAtMs));
  if (nextDueMs <= state.nowMs) {
    const others = jobs.some(
      (job) =>
        job.pipeline === lane.pipeline &&
        job.runAtMs <= state.nowMs &&
        job.status === 'running' &&
        spared?.includes(job.jobId),
    );
    // Other processes may take what this one spares; the rest waits for another job to end.
    if (!others) limitLane(state, lane, 200);
    return;
  }
  const mayLinger = lane.lingersUntilMs > state.nowMs;
  if (mayLinger && (lingering?.(lane) ?? state.lingers)) return;
  lane.isDue = false;
  lane.isLimited = false;
  lane.nextDueMs = nextDueMs;
}

export function listLanes(state: SimulatedState): LaneState[] {
  return allLanes(state)
    .map(({ tenantId, pipeline, pass, isDue, nextDueMs }) => {
      const isAwaited = !isDue && nextDueMs < Number.POSITIVE_INFINITY;
      return { tenantId, pipeline, pass, isDue, nextDueMs: isAwaited ? nextDueMs : null };
    })
    .sort((a, b) => compare(a.tenantId, b.tenantId) || compare(a.pipeline, b.pipeline));
}

export function tenantOf(state: SimulatedState, { tenantId }: { tenantId: string }): SimulatedTenant {
  const tenant = state.tenants.get(tenantId);
  if (!tenant) throw new Error(`The simulated store has no tenant ${tenantId}`);
  return tenant;
}

function allLanes({ tenants }: SimulatedState): SimulatedLane[] {
  return [...tenants.values()].flatMap(({ lanes }) => [...lanes.values()]);
}

function laneOf({ tenantId, lanes }: SimulatedTenant, pipeline: PipelineName): SimulatedLane {
  const known = lanes.get(pipeline);
  if (known) return known;
  const lane: SimulatedLane = {
    tenantId,
    pipeline,
    pass: 0,
    isDue: false,
    nextDueMs: Number.POSITIVE_INFINITY,
    isLimited: false,
    hasNews: false,
    lingersUntilMs: Number.NEGATIVE_INFINITY,
  };
  lanes.set(pipeline, lane);
  return lane;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

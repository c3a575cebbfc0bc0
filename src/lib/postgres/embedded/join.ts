import { setTimeout as delay } from 'node:timers/promises';
import { prepareBinaries } from './binaries.ts';
import { ensureCluster, findPassword } from './cluster.ts';
import type { Layout } from './layout.ts';
import { type Member, tryBecomeMember } from './member.ts';
import { findPostmaster, readLogTail, startPostmaster } from './postmaster.ts';
import { tryStartLock } from './start-lock.ts';

export interface JoinRequest {
  layout: Layout;
  database: string;
  settings: Record<string, string>;
  cacheDir: string | undefined;
  onNotice: (text: string) => void;
  /** Whether an empty database may be created; never in place of one that was in use. */
  mayMake: boolean;
}

export interface Joined {
  member: Member;
  startedByUs: boolean;
}

/** After a crash of everything, locks and shared memory of the old server linger for a second or two. */
const patienceMs = 30_000;
/** Replaying a long log is progress, so it may take longer than standing still. */
const recoveryPatienceMs = 10 * 60_000;
const pollMs = 25;
const restPauseMs = 250;
const maxHopelessStarts = 3;

/** Be a member of a running server: of the one that is there, or of one that we start. */
export async function joinServer(request: JoinRequest): Promise<Joined> {
  const begun = Date.now();
  const attempt: StartAttempt = { startedByUs: false, hopelessStarts: 0, obstacle: 'no server came up' };
  for (;;) {
    const member = await tryMember(request);
    if (member) return { member, startedByUs: attempt.startedByUs };
    const waitedMs = Date.now() - begun;
    const running = await findPostmaster(request.layout.postgresDir);
    if (waitedMs > (running?.ready === false ? recoveryPatienceMs : patienceMs)) {
      throw await noServer(request.layout, { waitedMs, obstacle: attempt.obstacle });
    }
    await delay(running ? pollMs : await startUnlessOthersDo(request, attempt));
  }
}

interface StartAttempt {
  startedByUs: boolean;
  hopelessStarts: number;
  /** What stood in the way last, for the error at the end. */
  obstacle: string;
}

async function tryMember(request: JoinRequest): Promise<Member | null> {
  const password = await findPassword(request.layout);
  if (password === null) return null;
  return await tryBecomeMember(request.layout, { password, database: request.database });
}

/** Returns how long to pause before looking again. */
async function startUnlessOthersDo(request: JoinRequest, attempt: StartAttempt): Promise<number> {
  const found = await tryStartLock(request.layout.dataDir);
  if (found.lock === null) {
    if (found.heldBy !== null)
      attempt.obstacle = `process ${found.heldBy} is making or starting the database`;
    return pollMs;
  }
  try {
    // It may have come up between our last look and the lock.
    if ((await findPostmaster(request.layout.postgresDir)) !== null) return 0;
    return await start(request, attempt);
  } finally {
    await found.lock.release();
  }
}

async function start(request: JoinRequest, attempt: StartAttempt): Promise<number> {
  const { layout, cacheDir, onNotice, settings, mayMake } = request;
  const binaries = await prepareBinaries({
    account: layout.account,
    cacheDir,
    dataDir: layout.dataDir,
    onNotice,
  });
  await ensureCluster(layout, binaries, { mayMake, onNotice });
  const outcome = await startPostmaster(layout, { postgres: binaries.postgres, settings });
  if (outcome.ready) {
    attempt.startedByUs = true;
    return 0;
  }
  attempt.obstacle = outcome.reason;
  attempt.hopelessStarts += isPassingObstacle(outcome.reason) ? 0 : 1;
  if (attempt.hopelessStarts >= maxHopelessStarts) {
    throw await noServer(layout, { waitedMs: 0, obstacle: attempt.obstacle });
  }
  return restPauseMs;
}

/** Remains of the server before, which go away by themselves. Everything else (a wrong setting) does not. */
function isPassingObstacle(log: string): boolean {
  return /lock file|shared memory|still in use|another (postmaster|server)/i.test(log);
}

async function noServer(layout: Layout, failure: { waitedMs: number; obstacle: string }): Promise<Error> {
  const waited = failure.waitedMs > 0 ? ` after ${Math.round(failure.waitedMs / 1000)} s` : '';
  const tail = await readLogTail(layout.logFile);
  return new Error(
    `The database in ${layout.postgresDir} could not be started${waited}: ${failure.obstacle}\n` +
      `Fix what its log reports and start again. The end of ${layout.logFile}:\n${tail}`,
  );
}

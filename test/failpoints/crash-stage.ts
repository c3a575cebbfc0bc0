import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { removeDeadIngests } from '../../src/ingest/items/service.ts';
import { type EmbeddingServer, startEmbeddingServer } from '../support/fakes/embedding-server.ts';
import { type TestDatabase, useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, isFull } from './crash-choice.ts';
import { type CrashFindings, type CrashPath, describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { type FailpointServers, useFailpointServers } from './failpoint-server.ts';

export interface CrashStage {
  database: TestDatabase;
  servers: FailpointServers;
}

/** A database and servers that can be killed at a point, for one test file. */
export function useCrashStage(env: Record<string, string> = {}): CrashStage {
  const database = useDatabase();
  return { database, servers: useFailpointServers(database, env) };
}

/** An embedding server for one test file; the function returns it once the tests run. */
export function useEmbedder(): () => EmbeddingServer {
  let started: EmbeddingServer | undefined;
  beforeAll(async () => {
    started = await startEmbeddingServer();
  });
  afterAll(() => started?.close());
  return () => {
    if (!started) throw new Error('The embedding server is available only after beforeAll has run');
    return started;
  };
}

interface ExpectedCrashes<Answers> {
  name: string;
  path: CrashPath<Answers>;
  /** How many deaths a run must have at least; `npm run chaos` dies at every point. */
  atLeast: number;
  /** Parts of the names of points that every run must pass. */
  seams: readonly string[];
}

/** Kills the process at chosen points of the path and expects no breach. Prints and returns what was found. */
export async function expectCrashes<Answers extends object>(
  { database, servers }: CrashStage,
  { name, path, atLeast, seams }: ExpectedCrashes<Answers>,
): Promise<CrashFindings> {
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
  console.log(describeCrashes(name, findings));
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  for (const seam of seams) expect(findings.points.join('\n')).toContain(seam);
  return findings;
}

/**
 * Removes what a dead process took in and never showed. Upkeep does this every minute, once the process is known to be
 * dead.
 */
export async function clearDeadIngests({ database, servers }: CrashStage): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    await removeDeadIngests(database.db);
    const left = await servers.query('select job_id from item_jobs where ingesting_by is not null');
    if (left.length === 0) return;
    if (Date.now() > deadline) throw new Error('The ingest of a dead process was not removed');
    await pause(50);
  }
}

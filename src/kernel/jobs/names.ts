import { isId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import type { Job } from './types.ts';

/** What a house calls the subjects of its jobs: a file, a base, a connector. Those that it does not know are absent. */
export type SubjectNames = (
  tx: Tx,
  asked: { tenantId: string; subjectIds: readonly string[] },
) => Promise<{ subjectId: string; name: string }[]>;

type NamedJob = Pick<Job, 'jobId' | 'pipeline' | 'subjectId'>;

/** What people call the jobs, by job id. Every job has a name. */
export type JobNames = (tenantId: string, jobs: readonly NamedJob[]) => Promise<Map<string, string>>;

/** Each house is asked once about the jobs of its own pipeline. */
export function jobNames(db: Database, byPipeline: ReadonlyMap<string, SubjectNames>): JobNames {
  return async (tenantId, jobs) => {
    const names = new Map(jobs.map((job) => [job.jobId, plainName(job)]));
    const asked = [...byPipeline].flatMap(([pipeline, subjectNames]) => {
      const own = jobs.filter((job) => job.pipeline === pipeline);
      return own.length > 0 ? [{ own, subjectNames }] : [];
    });
    if (asked.length === 0) return names;
    await db.read(tenantId, async (tx) => {
      for (const { own, subjectNames } of asked) {
        const subjectIds = [...new Set(own.map(({ subjectId }) => subjectId))];
        const found = new Map(
          (await subjectNames(tx, { tenantId, subjectIds })).map(({ subjectId, name }) => [subjectId, name]),
        );
        for (const { jobId, subjectId } of own)
          names.set(jobId, found.get(subjectId) ?? names.get(jobId) ?? '');
      }
    });
    return names;
  };
}

/** For subjects that have no name, or whose own is gone. */
function plainName({ pipeline, subjectId }: NamedJob): string {
  return isId(subjectId) ? `${pipeline} ${subjectId.slice(-8)}` : subjectId;
}

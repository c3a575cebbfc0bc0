import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { createFiles } from '../../src/kernel/files/backends.ts';
import { sweepOrphans } from '../../src/kernel/files/service.ts';
import { picture } from '../generators/images.ts';
import { type CrashPath, differences, untilOverOrDead } from './crash-run.ts';
import { type CrashStage, clearDeadIngests } from './crash-stage.ts';
import type { FailpointServer, FailpointServers } from './failpoint-server.ts';

export interface ImagesAnswers {
  jobId: string;
}

/** Small enough that four images take more than one insert, and the job more than one claim. */
export const imagesSettings = {
  SLUICE_WORKER_CONCURRENCY: '1',
  INGEST_MIN_ROWS: '1',
  INGEST_MAX_ROWS: '2',
  CLAIM_MIN: '2',
  CLAIM_MAX: '2',
};

const names = ['one.png', 'two.png', 'broken.png', 'three.png'];
const isBroken = (name: string) => name.startsWith('broken');

/** Four files, one of which is not an image, are taken in and processed. */
export function imagesPath(stage: CrashStage): CrashPath<ImagesAnswers> & { readonly orphans: number } {
  const { database, servers } = stage;
  let orphans = 0;
  return {
    get orphans() {
      return orphans;
    },
    prepare: async () => {},
    take: (server, tenantId) => takeImages(servers, server, tenantId),
    async check(_server, tenantId, { jobId }) {
      const files = createFiles({ filesBackend: 'local', dataDir: servers.dataDir });
      await clearDeadIngests(stage);
      // The product deletes only what is older than an hour; nothing else runs here.
      orphans += (await sweepOrphans({ db: database.db, files }, { olderThanMs: -3_600_000 })).removed;
      return differences(await recount(servers, tenantId), expected(jobId));
    },
  };
}

async function takeImages(
  servers: FailpointServers,
  server: FailpointServer,
  tenantId: string,
): Promise<Partial<ImagesAnswers>> {
  const form = new FormData();
  for (const [seed, name] of names.entries()) {
    const bytes = isBroken(name) ? Buffer.from('no image') : await picture({ seed }).png().toBuffer();
    form.append('file', new Blob([new Uint8Array(bytes)], { type: 'image/png' }), name);
  }
  const headers = { 'idempotency-key': 'the-images' };
  const answer = await server.call(tenantId, '/api/jobs', { method: 'POST', headers, body: form });
  if (answer === null) return {};
  if (answer.status !== 201)
    throw new Error(`The images were answered with ${answer.status}: ${answer.text}`);
  const { jobId } = JSON.parse(answer.text) as ImagesAnswers;
  const isOver = async () => {
    const jobs = await servers.query<{ status: string }>(
      'select status from ingestion_jobs where tenant_id = $1 and job_id = $2',
      [tenantId, jobId],
    );
    return jobs[0]?.status === 'success';
  };
  await untilOverOrDead(server, { isOver, what: 'the images are processed' });
  return { jobId };
}

function expected(jobId: string) {
  const images = names.flatMap((name, index) => {
    const original = { rowNo: index + 1, kind: 'original' };
    return isBroken(name) ? [original] : [original, { rowNo: index + 1, kind: 'thumbnail' }];
  });
  return {
    jobs: [{ jobId, status: 'success', total: 4, done: 3, error: 1 }],
    items: names.map((name) => ({
      name,
      status: isBroken(name) ? 'ERROR' : 'DONE',
      code: isBroken(name) ? 'image_not_recognised' : null,
    })),
    images,
    files: images.length,
    /** Bytes without a row, and rows without bytes, of all runs so far. */
    unnamed: [] as string[],
    missing: [] as string[],
  };
}

type Expected = ReturnType<typeof expected>;

async function recount(servers: FailpointServers, tenantId: string): Promise<Expected> {
  const [found] = await servers.query<Omit<Expected, 'unnamed' | 'missing'>>(recountQuery, [tenantId]);
  if (!found) throw new Error('The recount gave no row');
  const rows = await servers.query<{ key: string }>('select storage_key as key from files');
  const named = rows.map(({ key }) => key);
  const root = path.join(servers.dataDir, 'files');
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const stored = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
  return {
    ...found,
    unnamed: stored.filter((key) => !named.includes(key)),
    missing: named.filter((key) => !stored.includes(key)),
  };
}

const recountQuery = `
  select
    (select coalesce(json_agg(json_build_object(
              'jobId', job_id, 'status', j.status, 'total', i.total, 'done', i.done, 'error', i.error)), '[]')
       from ingestion_jobs j
       left join item_jobs i using (tenant_id, job_id)
      where tenant_id = $1) as jobs,
    (select coalesce(json_agg(json_build_object(
              'name', input_json ->> 'name', 'status', status, 'code', error_code) order by id), '[]')
       from job_items where tenant_id = $1) as items,
    (select coalesce(json_agg(json_build_object('rowNo', row_no, 'kind', kind) order by row_no, kind), '[]')
       from item_images where tenant_id = $1) as images,
    (select count(*)::integer from files where tenant_id = $1) as files`;

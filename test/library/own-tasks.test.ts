import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { definePipeline, defineTask, openSluice } from '../../src/library.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const place = mkdtempSync(path.join(tmpdir(), 'sluice-library-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const calls: string[] = [];
let fail = 0;

const count = definePipeline({
  name: 'count',
  input: z.object({ to: z.int().positive(), from: z.string().transform((text) => new Date(text)) }),
  advance: async ({ job }) => {
    const at = (job.checkpoint.at ?? 0) + 1;
    return {
      outcome: {
        type: at < job.input.to ? 'continue' : 'done',
        result: { at, year: job.input.from.getUTCFullYear() },
      },
      checkpoint: { at },
      counters: { done: at },
      effects: (tx) => tx.query('insert into counted (job_id, at) values ($1, $2)', [job.jobId, at]),
    };
  },
});

class Declined extends Error {
  override name = 'Declined';
}

const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string() }),
  retry: { maxRetries: 3, delay: 10, classes: { Declined: false } },
  run: async ({ name }, { step, sleep, jobId }) => {
    const first = await step('look-up', ({ idempotencyKey }) => {
      calls.push(idempotencyKey);
      return { id: 7, nothing: undefined };
    });
    await sleep(20);
    if (fail-- > 0) throw name === 'nobody' ? new Declined('No such person') : new Error('not now');
    const again = await step('look-up', () => {
      calls.push(`${jobId} again`);
      return first.id + 1;
    });
    return { text: `Hello, ${name}`, ids: [first.id, again] };
  },
});

const open = () =>
  openSluice({ databaseUrl: database.ownerUrl, dataDir: place, pipelines: [count], tasks: [greet] });
let sluice: Awaited<ReturnType<typeof open>>;
beforeAll(async () => {
  sluice = await open();
  await database.owner('create table counted (job_id uuid, at integer, primary key (job_id, at))');
});
afterAll(() => sluice.stop());

describe('a pipeline of one’s own', () => {
  test('commits its effects with each slice, in a table that was made after the start', async () => {
    const { jobId } = await sluice.dispatch('count', { to: 3, from: '2026-11-18' }, { tenantId: 'acme' });
    expect(await sluice.wait('acme', jobId)).toEqual({
      jobId,
      status: 'success',
      result: { at: 3, year: 2026 },
      counters: { done: 3 },
    });
    const rows = await database.owner('select at from counted where job_id = $1 order by at', [jobId]);
    expect(rows).toEqual([{ at: 1 }, { at: 2 }, { at: 3 }]);
  });

  test('refuses an input that does not fit, with the place', async () => {
    // @ts-expect-error: the compiler refuses it, too.
    const refused = sluice.dispatch('count', { to: -1, from: 3 }, { tenantId: 'acme' });
    await expect(refused).rejects.toMatchObject({
      code: 'input_invalid',
      fields: [{ pointer: '/input/to' }, { pointer: '/input/from' }],
    });
    // @ts-expect-error
    await expect(sluice.dispatch('cuont', {}, { tenantId: 'acme' })).rejects.toThrow(
      'there are: count, greet',
    );
  });
});

describe('a task', () => {
  test('does each step once over sleeps and retries, and its return value is the result', async () => {
    calls.length = 0;
    fail = 2;
    const { jobId } = await sluice.dispatch('greet', { name: 'Ada' }, { tenantId: 'acme' });
    const ended = await sluice.wait('acme', jobId);
    expect(ended).toMatchObject({ status: 'success', result: { text: 'Hello, Ada', ids: [7, 8] } });
    expect(calls).toEqual([`${jobId}/look-up`, `${jobId} again`]);
  });

  test('becomes a dead letter with its reason when its error is of a class that is not retried', async () => {
    fail = 1;
    const { jobId } = await sluice.dispatch('greet', { name: 'nobody' }, { tenantId: 'acme' });
    expect(await sluice.wait('acme', jobId)).toMatchObject({
      status: 'dead_letter',
      error: { code: 'declined', message: 'No such person' },
    });
  });
});

// A process that works on the ledger until it is killed at a seam, or until nothing is left to do.
import { definePipeline, defineTask } from 'sluice';
import { openTestSluice } from 'sluice/testing';
import { z } from 'zod';

const [databaseUrl, seam, jobs = '0'] = process.argv.slice(2);

const ledger = definePipeline({
  name: 'ledger',
  input: z.object({ account: z.string(), entries: z.int() }),
  advance: async ({ job }) => {
    const entry = (job.checkpoint.entry ?? 0) + 1;
    return {
      outcome: { type: entry < job.input.entries ? 'continue' : 'done' },
      checkpoint: { entry },
      counters: { entries: entry },
      effects: (tx) =>
        tx.query('insert into ledger (account, entry) values ($1, $2)', [job.input.account, entry]),
    };
  },
});

const pay = defineTask({
  name: 'pay',
  input: z.object({ account: z.string() }),
  run: async ({ account }, { step }) => {
    // The other side: it takes each key once, as payment providers do, and counts how often it was asked.
    for (const month of ['january', 'february']) {
      await step(month, ({ idempotencyKey }) => charge(idempotencyKey, account));
    }
    return 'paid';
  },
});

const { default: pg } = await import('pg');
const bank = new pg.Client({ connectionString: databaseUrl });
await bank.connect();
async function charge(key, account) {
  await bank.query('insert into asked (key) values ($1)', [key]);
  await bank.query('insert into charged (key, account) values ($1, $2) on conflict (key) do nothing', [
    key,
    account,
  ]);
}

const sluice = await openTestSluice({ databaseUrl, pipelines: [ledger], tasks: [pay], kills: 'process' });
for (let n = 0; n < Number(jobs); n += 1) {
  await sluice.dispatch(
    'ledger',
    { account: `account ${n}`, entries: 3 },
    { tenantId: 'acme', subjectId: `a${n}` },
  );
  await sluice.dispatch('pay', { account: `account ${n}` }, { tenantId: 'acme', subjectId: `p${n}` });
}
if (seam !== 'none') sluice.killAt(seam);
await sluice.runUntilIdle();
await bank.end();
await sluice.stop();

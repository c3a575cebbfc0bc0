// Reads a CSV file into a table, 64 KiB per slice. Run it with `node etl.mjs 1000000`; kill it, and run it again:
// it goes on where it was, and each line counts once.
import { createWriteStream, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import pg from 'pg';
import { definePipeline, openSluice } from 'sluice';
import { z } from 'zod';

const lines = Number(process.argv[2] ?? 1_000_000);
const file = `sales-${lines}.csv`;
const sliceBytes = 64 * 1024;

const load = definePipeline({
  name: 'load',
  input: z.object({ file: z.string() }),
  advance: async ({ job }) => {
    const { at = 0, rows = 0 } = job.checkpoint;
    const { text, isLast } = await readLines(job.input.file, at);
    const values = text.split('\n').filter(Boolean);
    const products = values.map((line) => line.split(',')[0]);
    const cents = values.map((line) => Number(line.split(',')[1]));
    return {
      outcome: isLast ? { type: 'done', result: { rows: rows + values.length } } : { type: 'continue' },
      checkpoint: { at: at + Buffer.byteLength(text), rows: rows + values.length },
      counters: { rows: rows + values.length },
      effects: (tx) =>
        tx.query('insert into sales (product, cents) select * from unnest($1::text[], $2::int[])', [
          products,
          cents,
        ]),
    };
  },
  progress: ({ checkpoint }) => `${checkpoint.rows ?? 0} lines`,
});

/** Whole lines from this place on. */
async function readLines(name, from) {
  const handle = await open(name);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(sliceBytes), 0, sliceBytes, from);
    const piece = buffer.subarray(0, bytesRead);
    const isLast = bytesRead < sliceBytes;
    return { text: (isLast ? piece : piece.subarray(0, piece.lastIndexOf(10) + 1)).toString(), isLast };
  } finally {
    await handle.close();
  }
}

async function writeSales() {
  const out = createWriteStream(file);
  for (let n = 0; n < lines; n += 1) {
    if (!out.write(`product ${n % 97},${n % 1000}\n`))
      await new Promise((resolve) => out.once('drain', resolve));
  }
  await new Promise((resolve) => out.end(resolve));
}

if (!existsSync(file)) await writeSales();
const sluice = await openSluice({ dataDir: './.sluice', pipelines: [load] });
const client = new pg.Client({ connectionString: sluice.databaseUrl });
await client.connect();
await client.query('create table if not exists sales (product text not null, cents integer not null)');
const { jobId } = await sluice
  .dispatch('load', { file }, { tenantId: 'shop', subjectId: file })
  .catch((error) => {
    // An earlier run was stopped in the middle: its job goes on.
    if (error.code !== 'job_already_active') throw error;
    return { jobId: error.details.active_job_id };
  });
console.log(`job ${jobId}`);
const { status, result } = await sluice.wait('shop', jobId);
const { rows } = await client.query('select count(*)::int as count, sum(cents)::text as cents from sales');
console.log(status, JSON.stringify(result), JSON.stringify(rows[0]));
await client.end();
await sluice.stop();

// A program that embeds Sluice, with a task that inserts one row by a pool of its own, as the handlers of others do.
import pg from 'pg';
import { defineTask, openSluice } from '../../dist/library.js';
import { effectQuery } from './effect.mjs';
import { countHandled, noteCall, settings, tellHandled, untilGo } from './protocol.mjs';

const { ownerUrl, dataDir, best, effect } = settings;
const { concurrency = 16 } = best ?? {};
const pool = new pg.Pool({ connectionString: ownerUrl, max: concurrency });

const anything = { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } };
const hello = defineTask({
  name: 'hello',
  input: anything,
  run: async (_input, { jobId }) => {
    noteCall();
    if (effect) await pool.query(effectQuery([jobId]));
    countHandled(1);
  },
});

await untilGo();
tellHandled();
await openSluice({ databaseUrl: ownerUrl, dataDir, tasks: [hello], concurrency });

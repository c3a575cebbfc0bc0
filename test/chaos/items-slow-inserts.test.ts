import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { type ItemServer, installationEnv, startServer } from './items-stage.ts';

const sluice = useCommandLine();
const database = useDatabase();
let server: ItemServer | undefined;
afterEach(() => {
  server?.running.child.kill('SIGKILL');
});

test('the batches of an ingest shrink while every insert takes 200 ms more, and grow again afterwards', {
  timeout: 300_000,
}, async () => {
  const tenantId = await newTenant(database);
  await installSlowInserts();
  server = await startServer(sluice, {
    ...installationEnv(database, { leaseMs: 5_000 }),
    INGEST_MIN_ROWS: '16',
    INGEST_MAX_ROWS: '2000',
  });
  const feed = openFeed(server, tenantId);
  const sizes = watchBatches(tenantId);
  const calm = await sizes.until((size) => size >= 256, 'the batches have grown');
  const calmLatency = await readLatency();
  await slowInserts(200);
  const slow = await sizes.until((size) => size <= calm / 4, 'the batches have shrunk');
  const slowLatency = await readLatency();
  await slowInserts(0);
  const recovered = await sizes.until((size) => size >= calm / 2, 'the batches have grown again');
  feed.end();
  expect(await feed.status).toBe(201);
  console.log(`rows per insert: ${sizes.seen.join(' ')}`);
  console.log(
    `calm ${calm} rows, +200 ms ${slow}, afterwards ${recovered}; latency ${calmLatency} → ${slowLatency} s`,
  );
  expect(slowLatency).toBeGreaterThan(calmLatency);
  expect(await readLatency()).toBeLessThan(slowLatency);
});

async function readLatency(): Promise<number> {
  const answer = await fetch(`${server?.url}/metrics`);
  const line = /^sluice_db_latency_ewma_seconds (\S+)$/m.exec(await answer.text());
  return Number(line?.[1]);
}

async function installSlowInserts(): Promise<void> {
  await database.owner(`
    create table slow_inserts (seconds float8 not null);
    insert into slow_inserts values (0);
    create function slow_insert() returns trigger security definer set search_path = public language plpgsql as $$
    begin
      perform pg_sleep(seconds) from slow_inserts;
      return null;
    end $$;
    create trigger slow_insert after insert on job_items for each statement execute function slow_insert()`);
}

async function slowInserts(delayMs: number): Promise<void> {
  await database.owner('update slow_inserts set seconds = $1', [delayMs / 1000]);
}

/** A file that continues until it is ended. */
function openFeed(to: ItemServer, tenantId: string): { end(): void; status: Promise<number> } {
  let isEnded = false;
  let row = 0;
  const boundary = 'the-boundary-of-this-feed';
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="processor"\r\n\r\nnoop\r\n`;
  const fileHead = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nn,text\n`;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(head + fileHead)),
    async pull(controller) {
      // Slower than the database, so that the file does not become a matter of gigabytes.
      await pause(10);
      const lines = Array.from({ length: 400 }, () => `${row++},a row of some length\n`);
      controller.enqueue(Buffer.from(lines.join('')));
      if (!isEnded) return;
      controller.enqueue(Buffer.from(`\r\n--${boundary}--\r\n`));
      controller.close();
    },
  });
  return {
    end: () => {
      isEnded = true;
    },
    status: to.send(tenantId, { body, contentType: `multipart/form-data; boundary=${boundary}` }),
  };
}

/** Sees the batches from outside: the rows of one transaction are one batch. */
function watchBatches(tenantId: string) {
  const seen: number[] = [];
  let lastId = '0';
  const read = async (): Promise<void> => {
    const rows = await database.owner<{ size: number; lastId: string }>(
      `select count(*)::int as size, max(id)::text as "lastId"
         from job_items
        where tenant_id = $1 and id > $2
        group by xmin
        order by max(id)`,
      [tenantId, lastId],
    );
    for (const { size } of rows) seen.push(size);
    lastId = rows.at(-1)?.lastId ?? lastId;
  };
  return {
    seen,
    async until(isThere: (size: number) => boolean, what: string): Promise<number> {
      await eventually(
        async () => {
          await read();
          await pause(50);
          return isThere(seen.at(-1) ?? 0);
        },
        `${what} (rows per insert: ${seen.join(' ')})`,
        60_000,
      );
      return seen.at(-1) ?? 0;
    },
  };
}

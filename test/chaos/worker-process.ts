/**
 * A worker process for the chaos tests: a kernel with the probe pipeline, until SIGTERM. It tells the test on stdout
 * what happens, one JSON object a line, and keeps a ledger of its slices in a file that no database fault can touch.
 */
import { appendFileSync } from 'node:fs';
import pino from 'pino';
import { Registry } from 'prom-client';
import { Kernel } from '../../src/kernel/jobs/kernel.ts';
import { sessionName } from '../../src/kernel/jobs/lease/membership.ts';
import type { Pipeline, Slice } from '../../src/kernel/jobs/types.ts';
import { newId } from '../../src/lib/ids.ts';
import { Database } from '../../src/lib/postgres/db.ts';
import { probePipeline } from '../support/worlds/probe-pipeline.ts';
import type { LedgerLine, WorkerReport, WorkerSettings } from './worker-messages.ts';

const settings: WorkerSettings = JSON.parse(process.argv[2] ?? '{}');
const logger = pino({ level: 'info' }, pino.destination({ dest: settings.logFile, sync: true }));
const workerId = newId();
const db = new Database({
  url: settings.appUrl,
  applicationName: sessionName(workerId),
  maxConnections: settings.concurrency + 3,
  connectTimeoutMs: 3_000,
});
const kernel = new Kernel({
  workerId,
  db,
  directUrl: settings.directUrl,
  logger,
  registry: new Registry(),
  pipelines: [withLedger(probePipeline({ beforeCommit: noteAttempt }))],
  version: 'chaos',
  leaseMs: settings.leaseMs,
  heartbeatMs: settings.leaseMs / 5,
  pollMs: 500,
  concurrency: settings.concurrency,
  tenantLimit: 1_000,
  maxStrikes: 3,
  maxQueued: 1_000_000,
});

let reported = 0;
await kernel.start({ work: true }).catch((error: unknown) => {
  // The database is away just now; whoever started this process starts another one.
  logger.error({ err: error }, 'the worker could not start');
  process.exit(1);
});
process.once('SIGTERM', () => void end());
const watch = setInterval(() => void reportRefusals(), 50);
report({ is: 'started', workerId, guardedBy: kernel.membership.guardedBy });

async function end(): Promise<void> {
  await kernel.stop(settings.graceMs);
  clearInterval(watch);
  await reportRefusals();
  report({ is: 'stopped' });
  await db.close();
}

async function reportRefusals(): Promise<void> {
  const { values } = await kernel.metrics.zombieWritesRefused.get();
  const refused = values[0]?.value ?? 0;
  if (refused > reported) report({ is: 'refused', total: refused });
  reported = refused;
}

/** Says when a slice begins and ends; the attempt to commit is noted by the pipeline's own hook. */
function withLedger(pipeline: Pipeline): Pipeline {
  return {
    ...pipeline,
    async advance(slice) {
      const step = Number(slice.job.checkpoint.step ?? 0);
      note('begin', slice, step);
      report({ is: 'begin', jobId: slice.job.jobId });
      try {
        return await pipeline.advance(slice);
      } finally {
        report({ is: 'end', jobId: slice.job.jobId });
      }
    },
  };
}

async function noteAttempt(slice: Slice, step: number): Promise<void> {
  note('attempt', slice, step);
}

function note(is: LedgerLine['is'], slice: Slice, step: number): void {
  const { jobId, leaseEpoch } = slice.job;
  const line: LedgerLine = {
    is,
    jobId,
    step,
    epoch: leaseEpoch,
    workerId: kernel.membership.workerId,
    at: Date.now(),
  };
  // Synchronous: one write of one short line is whole or absent, even when the process is killed at this moment.
  appendFileSync(settings.ledgerFile, `${JSON.stringify(line)}\n`);
}

function report(message: WorkerReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

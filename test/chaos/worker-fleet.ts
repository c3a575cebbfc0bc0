import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { eventually } from '../support/worlds/kernel.ts';
import type { LedgerLine, WorkerReport, WorkerSettings } from './worker-messages.ts';

const root = path.join(import.meta.dirname, '../..');

export type SpawnSettings = Pick<WorkerSettings, 'appUrl' | 'directUrl'> &
  Partial<Pick<WorkerSettings, 'leaseMs' | 'concurrency' | 'graceMs'>>;

/** A worker process as the test sees it. */
export interface WorkerProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Known once it has started. */
  workerId: string | null;
  guardedBy: 'lock' | 'expiry' | null;
  /** Jobs whose slice has begun and not ended. */
  readonly busyWith: Set<string>;
  refused: number;
  killedAt: number | null;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface Fleet {
  /** Every process that was ever started, the dead ones too. */
  readonly all: readonly WorkerProcess[];
  readonly living: WorkerProcess[];
  /** Where ledgers and logs are. */
  readonly dir: string;
  /** Resolves when the worker takes jobs. */
  start(settings: SpawnSettings): Promise<WorkerProcess>;
  /** Does not wait, because the database may be down. */
  launch(settings: SpawnSettings): WorkerProcess;
  /** kill -9; resolves when the process is gone. */
  kill(worker: WorkerProcess): Promise<void>;
  readLedger(): LedgerLine[];
  /** Kills what is left; removes ledgers and logs unless they are to be kept. */
  close(options?: { keepFiles?: boolean }): Promise<void>;
}

/** Compiles the worker (Node 20 runs no TypeScript) and starts processes of it. */
export async function openFleet(): Promise<Fleet> {
  const compiledDir = await compileWorker();
  const dir = await mkdtemp(path.join(tmpdir(), 'sluice-chaos-'));
  const all: WorkerProcess[] = [];
  const launch = (settings: SpawnSettings): WorkerProcess => {
    const number = all.length;
    const worker = spawnWorker(path.join(compiledDir, 'test/chaos/worker-process.js'), {
      leaseMs: 1_500,
      concurrency: 4,
      graceMs: 5_000,
      ...settings,
      ledgerFile: path.join(dir, `ledger-${number}.jsonl`),
      logFile: path.join(dir, `worker-${number}.log`),
    });
    all.push(worker);
    return worker;
  };
  const isLiving = ({ child }: WorkerProcess) => child.exitCode === null && child.signalCode === null;
  const fleet: Fleet = {
    all,
    dir,
    get living() {
      return all.filter(isLiving);
    },
    launch,
    async start(settings) {
      const worker = launch(settings);
      await eventually(async () => worker.workerId !== null || !isLiving(worker), 'a worker starts', 60_000);
      if (worker.workerId === null) throw new Error(`A worker did not start; its log is in ${dir}`);
      return worker;
    },
    async kill(worker) {
      worker.killedAt = Date.now();
      worker.child.kill('SIGKILL');
      await worker.exited;
    },
    readLedger: () => all.flatMap((_, number) => readLines(path.join(dir, `ledger-${number}.jsonl`))),
    async close({ keepFiles = false } = {}) {
      for (const worker of fleet.living) worker.child.kill('SIGKILL');
      await Promise.all(all.map((worker) => worker.exited));
      await rm(compiledDir, { recursive: true, force: true });
      if (keepFiles) console.log(`Ledgers and logs of the workers: ${dir}`);
      else await rm(dir, { recursive: true, force: true });
    },
  };
  return fleet;
}

/** Inside node_modules, so that the compiled files find the packages. */
async function compileWorker(): Promise<string> {
  const cache = path.join(root, 'node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const outDir = await mkdtemp(path.join(cache, 'sluice-chaos-'));
  await writeFile(path.join(outDir, 'package.json'), '{ "type": "module" }');
  // Asynchronously: the test runner hears nothing from a process that waits synchronously.
  await promisify(execFile)(process.execPath, [
    path.join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    path.join(import.meta.dirname, 'tsconfig.json'),
    '--outDir',
    outDir,
  ]).catch(({ stdout }: { stdout: string }) => {
    throw new Error(`The worker could not be compiled:\n${stdout}`);
  });
  return outDir;
}

function spawnWorker(program: string, settings: WorkerSettings): WorkerProcess {
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Only what a process needs, without the test's own environment.
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
  });
  const worker: WorkerProcess = {
    child,
    pid: child.pid ?? 0,
    workerId: null,
    guardedBy: null,
    busyWith: new Set(),
    refused: 0,
    killedAt: null,
    exited: new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal }))),
  };
  createInterface({ input: child.stdout }).on('line', (line) => hear(worker, line));
  return worker;
}

function hear(worker: WorkerProcess, line: string): void {
  if (!line.endsWith('}')) return; // Cut short by a kill.
  const message: WorkerReport = JSON.parse(line);
  if (message.is === 'started') {
    worker.workerId = message.workerId;
    worker.guardedBy = message.guardedBy;
  } else if (message.is === 'begin') worker.busyWith.add(message.jobId);
  else if (message.is === 'end') worker.busyWith.delete(message.jobId);
  else if (message.is === 'refused') worker.refused = message.total;
}

function readLines(file: string): LedgerLine[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LedgerLine);
}

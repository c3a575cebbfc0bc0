import { createReadStream } from 'node:fs';
import { devNull } from 'node:os';
import { Writable } from 'node:stream';
import type { CommandResult } from './command-line.ts';

interface Place {
  cwd: string;
  env: Record<string, string | undefined>;
}

/** Longer than any command needs; a command that never ends must not block the other tests. */
const deadlineMs = 60_000;
/** What commands listen to, and what would act on the tests if it stayed behind. */
const events = ['SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection'];

/** One after the other: directory, environment, streams and exit code belong to the whole process. */
let lastRun: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in this process, which saves the start of one. The command finds what it would find in a process of
 * its own: directory, environment, an empty stdin, a stdout and a stderr that are no terminals, and an end with
 * `process.exit`. `src/cli/program.test.ts` compares the two. Not for what is told signals or runs beside others.
 */
export function runCommandHere(args: string[], place: Place): Promise<CommandResult> {
  const run = lastRun.then(() => runAlone(args, place));
  lastRun = run.catch(() => undefined);
  return run;
}

async function runAlone(args: string[], place: Place): Promise<CommandResult> {
  // Before anything is replaced, and only for those who run commands here.
  const { runCommandLine } = await import('../../../src/cli/program.ts');
  const stage = new Stage();
  stage.enter(place);
  try {
    await beforeDeadline(
      runCommandLine(args),
      () => `sluice ${args.join(' ')} goes on: ${stage.stderr.text()}`,
    );
  } catch (error) {
    if (!(error instanceof ProcessExit)) throw error;
  } finally {
    stage.leave();
  }
  return { code: stage.exitCode, stdout: stage.stdout.text(), stderr: stage.stderr.text() };
}

async function beforeDeadline(work: Promise<void>, complaint: () => string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), deadlineMs);
  });
  try {
    await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Thrown where a process would exit: nothing after that line may run. */
class ProcessExit extends Error {
  override readonly name = 'ProcessExit';
}

/** What is replaced in this process while a command runs in it. */
class Stage {
  readonly stdout = new Sink();
  readonly stderr = new Sink();
  exitCode: number | null = null;
  #restore: (() => void)[] = [];

  enter({ cwd, env }: Place): void {
    const before = { cwd: process.cwd(), exitCode: process.exitCode, listeners: listenersNow() };
    const stdin = createReadStream(devNull);
    const { PATH, HOME } = process.env;
    this.#restore = [
      replace('stdin', stdin),
      replace('stdout', this.stdout),
      replace('stderr', this.stderr),
      replace('env', { PATH, HOME, ...env }),
      replace('exit', (code?: number) => this.#exit(code)),
      () => stdin.destroy(),
      () => process.chdir(before.cwd),
      () => {
        process.exitCode = before.exitCode;
      },
      () => removeOthers(before.listeners),
    ];
    process.exitCode = undefined;
    process.chdir(cwd);
  }

  /** Where no exit was called, the process would end by itself, with the code that was left for it. */
  leave(): void {
    this.exitCode ??= exitCodeNow();
    for (const restore of this.#restore) restore();
  }

  #exit(code = exitCodeNow()): never {
    // The first one ends a process: what is called and said afterwards would never happen.
    this.exitCode ??= code;
    this.stdout.seal();
    this.stderr.seal();
    throw new ProcessExit(`The process would end here with ${code}`);
  }
}

function exitCodeNow(): number {
  return Number(process.exitCode ?? 0);
}

function replace(name: 'stdin' | 'stdout' | 'stderr' | 'env' | 'exit', value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(process, name);
  if (!before) throw new Error(`process.${name} is not there to be replaced`);
  Object.defineProperty(process, name, { value, configurable: true, enumerable: true, writable: true });
  return () => Object.defineProperty(process, name, before);
}

type Listener = (...args: unknown[]) => void;

function listenersNow(): Map<string, Listener[]> {
  return new Map(events.map((event) => [event, process.rawListeners(event) as Listener[]]));
}

function removeOthers(kept: Map<string, Listener[]>): void {
  for (const [event, listeners] of listenersNow()) {
    for (const listener of listeners) {
      if (!kept.get(event)?.includes(listener)) process.removeListener(event, listener);
    }
  }
}

/** Keeps what is written to it. */
class Sink extends Writable {
  readonly #chunks: Buffer[] = [];
  #isSealed = false;

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.#isSealed) this.#chunks.push(chunk);
    done();
  }

  seal(): void {
    this.#isSealed = true;
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

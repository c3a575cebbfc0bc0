import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { runCommandHere } from './command-line-here.ts';

const root = path.join(import.meta.dirname, '../../..');

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A process of the built program, in its own directory and with only the given environment. */
export interface Running {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<CommandResult>;
}

export interface CommandLine {
  /** The working directory of all commands; there is nothing in it at first. */
  readonly cwd: string;
  start(args: string[], env?: Record<string, string>): Running;
  run(args: string[], env?: Record<string, string>): Promise<CommandResult>;
}

/** Lays an example into the working directory, as somebody has it who installed Sluice beside their own files. */
export function useExample(sluice: CommandLine, name: string): void {
  beforeAll(async () => {
    await cp(path.join(root, 'examples', name), sluice.cwd, { recursive: true });
    await mkdir(path.join(sluice.cwd, 'node_modules'));
    await symlink(root, path.join(sluice.cwd, 'node_modules/sluice'));
    await symlink(path.join(root, 'node_modules/zod'), path.join(sluice.cwd, 'node_modules/zod'));
  });
}

export interface CommandLineHere extends CommandLine {
  /** The same without a separate process, for tests that are not about processes. */
  runHere(args: string[], env?: Record<string, string>): Promise<CommandResult>;
}

/** Test files of one process share it: nobody changes the sources meanwhile. */
let built: Promise<void> | undefined;

async function buildProgram(): Promise<void> {
  const args = [path.join(root, 'scripts/build.mjs'), 'server'];
  const { code, stderr } = await spawnNode(args, { cwd: root, env: {} }).ended;
  if (code !== 0) throw new Error(`The build failed: ${stderr}`);
}

/**
 * Builds the program once and runs its commands; what still runs when the test file ends is killed. `program` is
 * another one than the built product.
 */
export function useCommandLine({ program }: { program?: string } = {}): CommandLineHere {
  const running = new Set<ChildProcess>();
  let cwd = '';
  beforeAll(async () => {
    cwd = await mkdtemp(path.join(tmpdir(), 'sluice-cli-'));
    built ??= buildProgram();
    await built;
  });
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    await rm(cwd, { recursive: true, force: true });
  });
  function start(args: string[], env: Record<string, string> = {}): Running {
    const started = spawnNode([program ?? path.join(root, 'dist/main.js'), ...args], { cwd, env });
    running.add(started.child);
    started.child.once('exit', () => running.delete(started.child));
    return started;
  }
  return {
    get cwd() {
      return cwd;
    },
    start,
    run: (args, env) => start(args, env).ended,
    runHere: (args, env = {}) => runCommandHere(args, { cwd, env }),
  };
}

function spawnNode(args: string[], { cwd, env }: { cwd: string; env: Record<string, string> }): Running {
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<CommandResult>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

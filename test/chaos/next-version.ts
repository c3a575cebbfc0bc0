import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readMigrations } from '../../src/lib/postgres/migrate.ts';
import type { CommandLine, CommandResult, Running } from '../support/servers/command-line.ts';

const root = path.join(import.meta.dirname, '../..');

/** The program as a next version of it: the same code with one migration more. */
export interface NextVersion extends CommandLine {
  /** The version of its newest migration. */
  readonly version: number;
  remove(): Promise<void>;
}

/** dist/ has to be built. Inside node_modules, so that the program finds its packages. */
export async function makeNextVersion(migration: { up: string; down: string }): Promise<NextVersion> {
  const cache = path.join(root, 'node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const dir = await mkdtemp(path.join(cache, 'sluice-next-'));
  for (const part of ['assets', 'dist', 'migrations', 'package.json'])
    await cp(path.join(root, part), path.join(dir, part), { recursive: true });
  const version = Math.max(...(await readMigrations()).map((one) => one.version)) + 1;
  const name = `${String(version).padStart(4, '0')}_next`;
  await writeFile(path.join(dir, 'migrations', `${name}.up.sql`), migration.up);
  await writeFile(path.join(dir, 'migrations', `${name}.down.sql`), migration.down);
  const started: Running[] = [];
  const start = (args: string[], env: Record<string, string> = {}): Running => {
    const running = spawnProgram(dir, args, env);
    started.push(running);
    return running;
  };
  return {
    version,
    cwd: dir,
    start,
    run: (args, env) => start(args, env).ended,
    async remove() {
      for (const { child, ended } of started) {
        child.kill('SIGKILL');
        await ended;
      }
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function spawnProgram(dir: string, args: string[], env: Record<string, string>): Running {
  const child = spawn(process.execPath, [path.join(dir, 'dist/main.js'), ...args], {
    cwd: dir,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  const ended = new Promise<CommandResult>((resolve) => {
    child.once('close', (code) => resolve({ code, ...said }));
  });
  return { child, stdout: () => said.stdout, stderr: () => said.stderr, ended };
}

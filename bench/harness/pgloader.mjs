// pgloader as Debian packages it, loading a CSV into a flat table.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { flatColumns } from './ad-report.mjs';

const installLimitMs = 300_000;
const outputKept = 20_000;

/** Installs it if possible; returns its version. */
export function requirePgloader() {
  if (!isInstalled() && process.getuid() === 0) {
    console.log('Installing pgloader (apt-get install pgloader)');
    const words = ['install', '--yes', '--no-install-recommends', 'pgloader'];
    execFileSync('apt-get', words, { stdio: 'ignore', timeout: installLimitMs });
  }
  if (!isInstalled()) throw new Error('There is no pgloader here (Debian: apt-get install pgloader)');
  return execFileSync('pgloader', ['--version'], { encoding: 'utf8' }).split('\n')[0];
}

function isInstalled() {
  return spawnSync('pgloader', ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** Loads the file into the table `flat`; `scratch` holds its command file. */
export async function loadByPgloader({ database, path, scratch, best }) {
  const command = join(scratch, 'report.load');
  await writeFile(command, commandOf({ database, path, best }));
  await new Promise((resolve, reject) => {
    const words = ['--quiet', '--root-dir', join(scratch, 'pgloader'), command];
    const child = spawn('pgloader', words, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (text) => {
      output = `${output}${text}`.slice(-outputKept);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`pgloader ended with ${code}: ${output}`)),
    );
  });
}

function commandOf({ database, path, best }) {
  const columns = flatColumns.join(', ');
  return `load csv
  from '${path}' with encoding utf-8 (${columns})
  into ${targetOf(database.ownerUrl)}
  target table flat (${columns})
  with skip header = 1,
       fields terminated by ',',
       fields optionally enclosed by '"',
       fields escaped by double-quote,
       workers = ${best.workers},
       concurrency = ${best.concurrency},
       batch rows = ${best.batchRows},
       prefetch rows = ${best.prefetchRows};
`;
}

/** pgloader writes the directory of a socket in its own way. */
function targetOf(ownerUrl) {
  const [, login, socketDir, port, name] = /^postgres:\/\/([^@]+)@([^:]+):(\d+)\/(.+)$/.exec(ownerUrl);
  return `postgresql://${login}@unix:${decodeURIComponent(socketDir)}:${port}/${name}`;
}

export const pgloaderCandidates = [
  { workers: 4, concurrency: 1, batchRows: 25_000, prefetchRows: 100_000 },
  { workers: 2, concurrency: 1, batchRows: 25_000, prefetchRows: 100_000 },
  { workers: 8, concurrency: 2, batchRows: 25_000, prefetchRows: 100_000 },
  { workers: 4, concurrency: 1, batchRows: 50_000, prefetchRows: 200_000 },
];

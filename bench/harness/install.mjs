// The peers are dependencies of this package only, and are installed when they are first needed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = fileURLToPath(new URL('..', import.meta.url));
const lockFile = join(home, 'package-lock.json');
const stampFile = join(home, 'node_modules', '.installed-lock.json');
const installLimitMs = 600_000;

export function installPeers() {
  const wanted = readFileSync(lockFile, 'utf8');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return;
  console.log('Installing the peers in bench/ (npm ci --ignore-scripts)');
  const install = spawnSync('npm', ['ci', '--ignore-scripts', '--loglevel', 'error'], {
    cwd: home,
    encoding: 'utf8',
    timeout: installLimitMs,
  });
  if (install.status !== 0) {
    const reason = install.error?.message ?? install.stderr.trim();
    throw new Error(`The peers could not be installed by \`npm ci\` in bench/:\n${reason}`);
  }
  writeFileSync(stampFile, wanted);
}

/** The version of a peer that is really installed. */
export function versionOf(name) {
  return JSON.parse(readFileSync(join(home, 'node_modules', name, 'package.json'), 'utf8')).version;
}

// npm run bench [names…] [--rounds 5] [--size 200000] [--sweep] [--strict] [--no-build]
// Restarts itself on the newest Node that the peers need, so that all are measured on the same one.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findNewestNode } from '../scripts/test-peers.mjs';
import { parseArguments, usage } from './harness/arguments.mjs';
import { installPeers } from './harness/install.mjs';

const neededNodeMajor = 24;

try {
  const options = parseArguments(process.argv.slice(2));
  if (options.help) console.log(usage);
  else if (Number.parseInt(process.versions.node, 10) === neededNodeMajor) {
    installPeers();
    const { runBenches } = await import('./harness/run-benches.mjs');
    process.exitCode = await runBenches(options);
  } else {
    process.exitCode = await runOnNewestNode();
  }
} catch (error) {
  console.error(error.isUsage ? error.message : error);
  process.exitCode = 2;
}

async function runOnNewestNode() {
  const node = await findNewestNode();
  if (node.missing) throw new Error(`The benchmarks need Node ${neededNodeMajor}: ${node.missing}`);
  const child = spawn(node.path, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  // A terminal sends Ctrl+C to both; the child cleans up, and this process waits for it.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal ? 1 : 0)));
  });
}

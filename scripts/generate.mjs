// `npm run generate`: writes the checked-in files that are generated from the code. Tests compare them.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { renderApiTypes } from './api-types.mjs';
import { buildServer } from './build.mjs';
import { renderSettingsPage } from './pages/configuration.mjs';
import { renderErrorsDocument } from './pages/errors.mjs';
import { renderRolesDocument } from './pages/roles.mjs';
import { dumpSchema } from './pages/schema.mjs';
import { stateMachinePage } from './pages/state-machines.mjs';
import { root } from './steps.mjs';

const built = await buildServer();
if (built.status === 'failed') {
  console.error(`Nothing was generated, because the build failed.\n${built.message}`);
  process.exit(1);
}

const { ownChapters } = await import('../dist/modules/api/docs/error-catalogue.js');
const { houses } = await import('../dist/modules/houses.js');
const rights = await import('../dist/modules/kernel/tenancy/rights.js');
const { roles } = await import('../dist/modules/kernel/tenancy/types.js');
const { transitions } = await import('../dist/modules/kernel/jobs/transitions.js');
const { lists, settings } = await import('../dist/modules/config.js');

const chapters = [...ownChapters, ...houses.flatMap((house) => house.errors)];
await writeIfChanged('docs/errors.md', renderErrorsDocument(chapters));
await writeIfChanged('docs/roles.md', renderRolesDocument({ ...rights, roles }));
await writeIfChanged('docs/state-machines.md', stateMachinePage(transitions));
const listPages = lists.map(([, { page }]) => page);
await writeIfChanged('docs/configuration.md', renderSettingsPage(settings, { chapters: listPages }));
await onEmptyInstallation(async ({ schema, url }) => {
  await writeIfChanged('schema.sql', schema);
  const openapi = await (await fetch(`${url}/api/openapi.json`)).text();
  await writeIfChanged('openapi.json', openapi);
  await writeIfChanged('console/src/api/types.ts', renderApiTypes(JSON.parse(openapi)));
});

/** A server on an embedded database that was just migrated, and the schema as the migrations alone leave it. */
async function onEmptyInstallation(work) {
  const { ensureRoles } = await import('../dist/modules/lib/postgres/roles.js');
  const { migrateUp } = await import('../dist/modules/lib/postgres/migrate.js');
  const { joinEmbeddedPostgres } = await import('../dist/modules/lib/postgres/embedded/embedded-postgres.js');
  const { createApp } = await import('../dist/modules/app.js');
  const { loadConfig } = await import('../dist/modules/config.js');
  const { createLogger } = await import('../dist/modules/lib/log.js');
  const { SecretScrubber } = await import('../dist/modules/lib/secret-scrubber.js');
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-generate-'));
  const scrubber = new SecretScrubber();
  try {
    const server = await joinEmbeddedPostgres({ dataDir });
    try {
      await ensureRoles(server.ownerUrl);
      await migrateUp(server.ownerUrl);
      const schema = await dumpSchema(server.ownerUrl);
      const env = { PORT: '0', SLUICE_DATA_DIR: dataDir, SLUICE_WORKER: 'false' };
      const { config } = await loadConfig({ env, cwd: dataDir });
      const logger = createLogger({ level: 'warn', scrubber });
      const app = await createApp({ config, logger, scrubber, portIsExplicit: true });
      try {
        await work({ schema, url: app.url });
      } finally {
        await app.stop();
      }
    } finally {
      await server.leave();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function writeIfChanged(file, text) {
  const path = join(root, file);
  const before = await readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (before === text) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  console.error(`Wrote ${file}.`);
}

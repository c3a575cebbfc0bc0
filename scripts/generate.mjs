// `npm run generate`: writes the checked-in files that are generated from the code. Tests compare them.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { renderApiTypes } from './api-types.mjs';
import { buildServer } from './build.mjs';
import { root } from './steps.mjs';

const built = await buildServer();
if (built.status === 'failed') {
  console.error(`Nothing was generated, because the build failed.\n${built.message}`);
  process.exit(1);
}

const { renderErrorsDocument } = await import('../dist/modules/api/docs/error-catalogue.js');
const { renderOpenApi } = await import('../dist/modules/api/docs/openapi-document.js');
const { renderRolesDocument } = await import('../dist/modules/kernel/tenancy/rights.js');
const { stateMachinePage } = await import('../dist/modules/kernel/jobs/state-machine-page.js');
const { configurationPage } = await import('../dist/modules/config.js');
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

await writeIfChanged('docs/errors.md', renderErrorsDocument());
await writeIfChanged('docs/roles.md', renderRolesDocument());
await writeIfChanged('docs/state-machines.md', stateMachinePage());
await writeIfChanged('docs/configuration.md', configurationPage());
const openapi = await renderOpenApi({ version });
await writeIfChanged('openapi.json', openapi);
await writeIfChanged('console/src/api/types.ts', renderApiTypes(JSON.parse(openapi)));
await writeIfChanged('schema.sql', await migratedSchema());

/** The schema of an empty embedded database with every migration applied. */
async function migratedSchema() {
  const { joinEmbeddedPostgres } = await import('../dist/modules/lib/postgres/embedded/embedded-postgres.js');
  const { ensureRoles } = await import('../dist/modules/lib/postgres/roles.js');
  const { migrateUp } = await import('../dist/modules/lib/postgres/migrate.js');
  const { dumpSchema } = await import('../dist/modules/lib/postgres/schema-dump.js');
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-generate-'));
  try {
    const server = await joinEmbeddedPostgres({ dataDir });
    try {
      await ensureRoles(server.ownerUrl);
      await migrateUp(server.ownerUrl);
      return await dumpSchema(server.ownerUrl);
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

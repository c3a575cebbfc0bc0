import type { TestProject } from 'vitest/node';
import { migrateUp } from '../../../src/lib/postgres/migrate.ts';
import { ensureLogins, ensureRoles } from '../../../src/lib/postgres/roles.ts';
import { createDatabase, startTestServer, withDatabase } from '../fakes/postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The owner's URL of the server that this run uses, and the database that test files are cloned from. */
    serverUrl: string;
    templateDatabase: string;
  }
}

const templateDatabase = 'sluice_template';

/** One PostgreSQL for the whole run: embedded 18, or Debian's with SLUICE_TEST_POSTGRES=system. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer();
  try {
    await prepareTemplate(server.ownerUrl);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('serverUrl', server.ownerUrl);
  project.provide('templateDatabase', templateDatabase);
  return server.stop;
}

async function prepareTemplate(serverUrl: string): Promise<void> {
  await createDatabase(serverUrl, templateDatabase);
  const templateUrl = withDatabase(serverUrl, templateDatabase);
  await ensureRoles(templateUrl);
  await ensureLogins(templateUrl);
  await migrateUp(templateUrl);
}

import type { TestProject } from 'vitest/node';
import { ensureAppLogin, ensureRoles } from '../src/lib/database-roles.ts';
import { migrateUp } from '../src/lib/migrate.ts';
import { createDatabase, startTestServer, withDatabase } from './postgres-server.ts';

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
  await createDatabase(server.ownerUrl, templateDatabase);
  const templateUrl = withDatabase(server.ownerUrl, templateDatabase);
  await ensureRoles(templateUrl);
  await ensureAppLogin(templateUrl);
  await migrateUp(templateUrl);
  project.provide('serverUrl', server.ownerUrl);
  project.provide('templateDatabase', templateDatabase);
  return server.stop;
}

import { createHash } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { newId } from '../../lib/ids.ts';
import { withOwner } from '../../lib/postgres/client.ts';
import { prepareDatabase, resolveConnections } from '../../lib/postgres/connections.ts';
import { joinEmbeddedPostgres } from '../../lib/postgres/embedded/embedded-postgres.ts';
import { readMigrations } from '../../lib/postgres/migrate.ts';
import { createFrom, dropDatabase, hasDatabase, holdTemplateLock, renameDatabase } from './test-store.ts';

export interface TestDatabase {
  /** The owner's login. */
  readonly url: string;
  close(): Promise<void>;
}

/** Nothing of it has to survive anything. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
};
const memory = '/dev/shm';
const roomBytes = 2 * 1024 ** 3;

/**
 * A database of one's own in a second: a copy of a migrated one, on a server that all tests of this user share and the
 * last of them stops, in memory where there is room. `prepare` is done once, after the migrations.
 */
export async function openTestDatabase(prepare: (ownerUrl: string) => Promise<void>): Promise<TestDatabase> {
  const digest = await schemaDigest();
  const dataDir = path.join(await roomiest(), `sluice-test-${userInfo().uid}-${digest}`);
  const server = await joinEmbeddedPostgres({ dataDir, settings });
  try {
    const template = `template_${digest}`;
    await ensureTemplate(server.ownerUrl, { template, prepare });
    const name = `test_${newId().replaceAll('-', '')}`;
    await withOwner(server.ownerUrl, (client) => createFrom(client, { name, template }));
    return {
      url: urlOf(server.ownerUrl, name),
      close: async () => {
        await withOwner(server.ownerUrl, (client) => dropDatabase(client, name));
        await server.leave();
      },
    };
  } catch (error) {
    await server.leave();
    throw error;
  }
}

async function schemaDigest(): Promise<string> {
  const sums = (await readMigrations()).map(({ checksum }) => checksum);
  return createHash('sha256').update(sums.join('\n')).digest('hex').slice(0, 12);
}

async function roomiest(): Promise<string> {
  const room = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return room >= roomBytes ? memory : tmpdir();
}

/** Made under another name first: a process that dies meanwhile leaves no half of a template. */
async function ensureTemplate(
  ownerUrl: string,
  { template, prepare }: { template: string; prepare: (ownerUrl: string) => Promise<void> },
): Promise<void> {
  await withOwner(ownerUrl, async (client) => {
    if (await hasDatabase(client, template)) return;
    await holdTemplateLock(client);
    if (await hasDatabase(client, template)) return;
    const half = `half_${newId().replaceAll('-', '')}`;
    await createFrom(client, { name: half, template: 'template0' });
    const url = urlOf(ownerUrl, half);
    const connections = await resolveConnections({
      databaseUrl: url,
      databaseAppUrl: null,
      databaseKernelUrl: null,
      databaseDirectUrl: null,
      dataDir: '',
    });
    await prepareDatabase(connections, { migrate: true });
    await prepare(url);
    await renameDatabase(client, { from: half, to: template });
  });
}

function urlOf(ownerUrl: string, database: string): string {
  const url = new URL(ownerUrl);
  url.pathname = `/${database}`;
  return url.href;
}

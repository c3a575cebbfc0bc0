import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { Database } from '../../src/lib/postgres/db.ts';
import { migrateUp } from '../../src/lib/postgres/migrate.ts';
import { appUrlFor, ensureLogins, ensureRoles } from '../../src/lib/postgres/roles.ts';
import {
  queryOnce,
  startTestServer,
  type TestServer,
  withDatabase,
} from '../support/fakes/postgres-server.ts';

/** The newest migration of the version before. */
export const versionBefore = 22;

const migrationsDir = path.join(import.meta.dirname, '../../migrations');

/**
 * An installation of the version before, on a server of its own. Its owner is no superuser: the policies hold for it
 * too, and a migration that forgets them would move no row.
 */
export class Installation {
  readonly ownerUrl: string;
  readonly appUrl: string;
  readonly db: Database;
  readonly #server: TestServer;
  readonly #superuser: pg.Pool;
  readonly #programs: Database[] = [];

  private constructor(server: TestServer, ownerUrl: string) {
    this.#server = server;
    this.ownerUrl = ownerUrl;
    this.appUrl = appUrlFor(ownerUrl);
    this.#superuser = new pg.Pool({ connectionString: withDatabase(server.ownerUrl, 'installed'), max: 4 });
    this.#superuser.on('error', () => {});
    this.db = this.connect('sluice-test');
  }

  static async create(): Promise<Installation> {
    const server = await startTestServer();
    await queryOnce(server.ownerUrl, `create role plain_owner login createrole password 'plain'`);
    await queryOnce(server.ownerUrl, 'create database installed owner plain_owner');
    const url = new URL(withDatabase(server.ownerUrl, 'installed'));
    url.username = 'plain_owner';
    url.password = 'plain';
    const dir = await mkdtemp(path.join(tmpdir(), 'sluice-migrations-'));
    const isOld = (file: string) => Number(file.slice(0, 4)) <= versionBefore;
    for (const file of (await readdir(migrationsDir)).filter(isOld)) {
      await copyFile(path.join(migrationsDir, file), path.join(dir, file));
    }
    await ensureRoles(url.href);
    await migrateUp(url.href, { dir });
    await ensureLogins(url.href);
    await rm(dir, { recursive: true });
    return new Installation(server, url.href);
  }

  /** A program of its own. */
  connect(applicationName: string): Database {
    const settings = { statement_timeout: '60s' };
    const db = new Database({ url: this.appUrl, applicationName, maxConnections: 12, settings });
    this.#programs.push(db);
    return db;
  }

  /** As a superuser, to arrange and to recount. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#superuser.query(text, values)).rows;
  }

  async remove(): Promise<void> {
    await Promise.all(this.#programs.map((db) => db.close()));
    await this.#superuser.end();
    await this.#server.stop();
  }
}

import pg from 'pg';
import { quoteIdentifier } from '../../src/lib/postgres/sql.ts';

/** Every row of a tenant in every table that has tenants, as one hash per table. */
export type Fingerprint = Record<string, { rows: number; hash: string }>;

/** Where work waits, for all tenants together: any claim may move it, and it has nothing that is not in the jobs. */
const queues = ['tenant_queue', 'tenant_queue_marks'];

/** Reads a tenant's rows directly in the database. */
export class TenantTables {
  readonly #client: pg.Client;
  #names: string[] = [];

  constructor(ownerUrl: string) {
    this.#client = new pg.Client({ connectionString: ownerUrl });
  }

  async open(): Promise<void> {
    await this.#client.connect();
    const { rows } = await this.#client.query<{ name: string }>(
      `select c.relname as name
         from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'm', 'v', 'f')
          and not c.relispartition and c.relname <> all($1)
        order by c.relname`,
      [queues],
    );
    this.#names = rows.map(({ name }) => name);
  }

  get names(): readonly string[] {
    return this.#names;
  }

  async fingerprint(tenantId: string): Promise<Fingerprint> {
    const parts = this.#names.map(
      (name) => `select ${pg.escapeLiteral(name)} as name, count(*)::int as rows,
                        md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash
                   from ${quoteIdentifier(name)} t where tenant_id = $1`,
    );
    const { rows } = await this.#client.query(parts.join(' union all '), [tenantId]);
    return Object.fromEntries(rows.map(({ name, rows: count, hash }) => [name, { rows: count, hash }]));
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { migrateUp } from '../../src/lib/postgres/migrate.ts';
import { ensureRoles } from '../../src/lib/postgres/roles.ts';
import { queryOnce, startTestServer, type TestServer } from '../support/fakes/postgres-server.ts';
import { useCommandLine } from '../support/servers/command-line.ts';

vi.setConfig({ testTimeout: 120_000 });

// A login for BI tools, attacked from inside: on a server of its own, as a superuser's and as a plain owner's.
const sluice = useCommandLine();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await queryOnce(server.ownerUrl, `create role plain_owner login createrole password 'plain'`);
  for (const kind of kinds) await arrange(kind);
});
afterAll(() => server.stop());

// The plain owner first: it could not change the roles of the cluster if the superuser had created them.
const kinds = ['plain owner', 'superuser'] as const;
type Kind = (typeof kinds)[number];
const ownerUrls = new Map<Kind, string>();
const ids = {
  workspace: '019a0000-0000-7000-8000-000000000001',
  campaign: '019a0000-0000-7000-8000-000000000002',
  upload: '019a0000-0000-7000-8000-000000000003',
};

async function arrange(kind: Kind): Promise<void> {
  const name = kind === 'superuser' ? 'by_superuser' : 'by_plain_owner';
  const superuserUrl = new URL(server.ownerUrl);
  await queryOnce(
    server.ownerUrl,
    `create database ${name} ${kind === 'superuser' ? '' : 'owner plain_owner'}`,
  );
  superuserUrl.pathname = `/${name}`;
  const url = new URL(superuserUrl);
  if (kind === 'plain owner') {
    url.username = 'plain_owner';
    url.password = 'plain';
  }
  ownerUrls.set(kind, url.href);
  await ensureRoles(url.href);
  await migrateUp(url.href);
  for (const tenant of ['acme', 'rival']) await queryOnce(superuserUrl.href, rowsOf(tenant));
}

/** One row of everything that the views show, with the tenant's name in every text. */
function rowsOf(tenant: string): string {
  const { workspace, campaign, upload } = ids;
  const place = `'${tenant}', '${workspace}', 'meta'`;
  const seen = `now(), '${upload}', '${upload}'`;
  return `
    insert into tenants (tenant_id, name) values ('${tenant}', '${tenant}');
    insert into workspaces (tenant_id, workspace_id, name) values ('${tenant}', '${workspace}', 'W ${tenant}');
    insert into campaigns (tenant_id, workspace_id, platform, campaign_id, external_id, is_name_key, name, as_of,
                           created_by_upload, last_upload)
    values (${place}, '${campaign}', '1', false, 'C ${tenant}', ${seen});
    insert into daily_metrics (tenant_id, workspace_id, platform, metric_date, campaign_id, spend, currency, as_of,
                               created_by_upload, last_upload, line_no)
    values (${place}, '2026-03-01', '${campaign}', ${tenant === 'acme' ? '1.25' : '99'}, 'EUR', ${seen}, 7);
    insert into period_metrics (tenant_id, workspace_id, platform, date_from, date_to, campaign_id, spend, as_of,
                                created_by_upload, last_upload)
    values (${place}, '2026-03-01', '2026-03-31', '${campaign}', 2, ${seen});
    insert into metric_breakdowns (tenant_id, workspace_id, platform, date_from, date_to, campaign_id, dimension_names,
                                   dimensions, dimensions_hash, spend, as_of, created_by_upload, last_upload)
    values (${place}, '2026-03-01', '2026-03-01', '${campaign}', '{Age}', '{"Age": "${tenant}"}', '\\x01', 1, ${seen})`;
}

const run = (kind: Kind, ...args: string[]) =>
  sluice.runHere(['bi-login', ...args], { DATABASE_URL: ownerUrls.get(kind) ?? '' });

async function newLogin(kind: Kind, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(kind, '--tenant', 'acme', ...args);
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

async function as<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

const rowsSeen = async (client: pg.Client, text: string) => (await client.query(text)).rows as object[];
const refusal = async (client: pg.Client, text: string): Promise<string> => {
  try {
    await client.query(text);
    return `worked: ${text}`;
  } catch (error) {
    await client.query('rollback');
    return (error as { code: string }).code;
  }
};

describe.each(kinds)('a login that a %s makes', (kind) => {
  test('reads every view, with its own tenant’s rows and no others', async () => {
    await as(await newLogin(kind), async (client) => {
      const views = await rowsSeen(
        client,
        `select table_name as name from information_schema.tables where table_schema = 'sluice_bi' order by 1`,
      );
      const names = views.map((view) => (view as { name: string }).name);
      expect(names).toEqual([
        ...['ad_sets', 'ads', 'campaigns', 'daily_metrics', 'metric_breakdowns', 'period_metrics', 'uploads'],
      ]);
      for (const name of names) {
        const rows = await rowsSeen(client, `select v::text as row from sluice_bi.${name} v`);
        expect([name, JSON.stringify(rows).includes('rival')]).toEqual([name, false]);
      }
      // Without the schema's name, as BI tools write it.
      expect(
        await rowsSeen(client, 'select campaign_name, workspace, spend::text, line from daily_metrics'),
      ).toEqual([{ campaign_name: 'C acme', workspace: 'W acme', spend: '1.25', line: 7 }]);
      expect(await rowsSeen(client, 'select 1 from metric_breakdowns')).toHaveLength(1);
      expect(await rowsSeen(client, 'select 1 from period_metrics')).toHaveLength(1);
      const [comment] = await rowsSeen(
        client,
        `select obj_description('sluice_bi.daily_metrics'::regclass) as text`,
      );
      expect(comment).toMatchObject({ text: expect.stringContaining('currencies') });
    });
  });

  test('does not become another tenant by settings, roles or a leaky condition', async () => {
    await as(await newLogin(kind), async (client) => {
      for (const attempt of [
        `select set_config('app.tenant_id', 'rival', false)`,
        `select set_config('app.tenant_signature', '', false)`,
        'reset all',
        'set search_path = public, sluice_bi',
      ]) {
        await client.query(attempt);
        expect(await rowsSeen(client, 'select spend::text from sluice_bi.daily_metrics')).toEqual([
          { spend: '1.25' },
        ]);
      }
      const owner = new URL(ownerUrls.get(kind) ?? '').username;
      const roles = [
        'sluice_tenant',
        'sluice_kernel',
        'sluice_promote',
        'sluice_app',
        'sluice_kernel_login',
        owner,
      ];
      for (const role of roles) {
        expect([role, await refusal(client, `set role ${role}`)]).toEqual([role, '42501']);
        expect([role, await refusal(client, `set session authorization ${role}`)]).toEqual([role, '42501']);
      }
      // A condition that fails on the rival's row would tell what is in it.
      const leaky = await rowsSeen(
        client,
        `select 1 from sluice_bi.daily_metrics where 1 / (spend - 99) < 9`,
      );
      expect(leaky).toHaveLength(1);
    });
  });

  test('reads no table of Sluice, no secret, no job, and calls nothing that works for others', async () => {
    await as(await newLogin(kind), async (client) => {
      const tables = await rowsSeen(
        client,
        `select c.oid::regclass::text as name from pg_class c
          where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S')`,
      );
      expect(tables.length).toBeGreaterThan(50);
      for (const { name } of tables as { name: string }[]) {
        const isSequence = name.endsWith('_seq');
        const attempt = isSequence ? `select nextval('${name}')` : `select 1 from ${name} limit 1`;
        expect([name, await refusal(client, attempt)]).toEqual([name, '42501']);
      }
      const definers = await rowsSeen(
        client,
        `select p.oid::regprocedure::text as name from pg_proc p
          where p.prosecdef and p.pronamespace in ('public'::regnamespace, 'sluice_bi'::regnamespace)
            and p.prorettype <> 'trigger'::regtype
            and has_function_privilege(p.oid, 'execute')
            and has_schema_privilege(p.pronamespace, 'usage')`,
      );
      expect(definers.map((one) => (one as { name: string }).name.replace('public.', '')).sort()).toEqual([
        'current_tenant()',
        'login_tenant()',
      ]);
    });
  });

  test('writes nothing, whether or not its transactions are read-only', async () => {
    await as(await newLogin(kind), async (client) => {
      const attempts = [
        'insert into sluice_bi.uploads (filename) values (1)',
        'update sluice_bi.campaigns set name = 1',
        'delete from sluice_bi.uploads',
        'create table sluice_bi.mine (a int)',
        'create table public.mine (a int)',
        'create temporary table mine (a int)',
        'create schema mine',
        'create function sluice_bi.mine() returns int language sql as $$ select 1 $$',
        'create role mine',
        `copy (select 1) to '/tmp/bi-login'`,
        ...(kind === 'superuser' ? [`select lo_from_bytea(0, '\\x00')`, 'select lo_create(0)'] : []),
      ];
      for (const isReadOnly of ['on', 'off']) {
        await client.query(`set default_transaction_read_only = ${isReadOnly}`);
        for (const attempt of attempts) {
          expect([attempt, await refusal(client, attempt)]).toEqual([
            attempt,
            expect.stringMatching(/^(42501|25006|55000|42809)$/),
          ]);
        }
      }
    });
  });

  test('has a limit on connections and a time limit on statements', async () => {
    const url = await newLogin(kind, '--connections', '1', '--timeout', '1');
    await as(url, async (client) => {
      expect(await refusal(client, 'select pg_sleep(60)')).toBe('57014');
      await expect(as(url, async () => {})).rejects.toMatchObject({ code: '53300' });
    });
  });

  test('is listed without its password, and removed with its connections', async () => {
    const url = await newLogin(kind, '--description', 'the sales dashboard');
    const login = new URL(url).username;
    const { stdout } = await run(kind, '--list', '--json');
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ login, tenant_id: 'acme', description: 'the sales dashboard' }),
    );
    expect(stdout).not.toContain(new URL(url).password);
    await as(url, async (client) => {
      const removed = await run(kind, '--remove', login);
      expect(removed, removed.stderr).toMatchObject({ code: 0 });
      await expect(client.query('select 1')).rejects.toThrow();
    });
    await expect(as(url, async () => {})).rejects.toMatchObject({ code: '28P01' });
    expect((await run(kind, '--remove', login)).code).toBe(1);
  });

  test('reads nothing once its tenant is gone', async () => {
    const made = await run(kind, '--tenant', 'rival');
    await as(made.stdout.trim(), async (client) => {
      expect(await rowsSeen(client, 'select 1 from daily_metrics')).toHaveLength(1);
      const superuserUrl = new URL(server.ownerUrl);
      superuserUrl.pathname = new URL(ownerUrls.get(kind) ?? '').pathname;
      await queryOnce(superuserUrl.href, `delete from bi_logins where tenant_id = 'rival'`);
      expect(await rowsSeen(client, 'select 1 from daily_metrics')).toEqual([]);
    });
  });
});

test('a tenant that does not exist, and flags that contradict each other, are refused', async () => {
  expect(await run('superuser', '--tenant', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no tenant "nobody"'),
  });
  for (const args of [
    [],
    ['--list', '--remove', 'x'],
    ['--remove', 'postgres'],
    ['--tenant', 'acme', '--timeout', '0'],
  ]) {
    expect([args, (await run('superuser', ...args)).code]).toEqual([args, 2]);
  }
});

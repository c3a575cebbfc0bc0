import type pg from 'pg';
import { withOwner } from './client.ts';
import { appLogin, runPatiently } from './roles.ts';

/** Sessions of programs that did not sign tenants, and worked across tenants as the application login. */
const olderPrograms = `
  select
    from pg_stat_activity
   where application_name like 'sluice-server %'
      or application_name = 'sluice-worker'`;

/**
 * Takes away what only programs of older versions need, once none of them is connected any more: that the application
 * login may step into the kernel's role, and that a tenant counts without a signature. Until then an upgrade goes on.
 */
export function retireOlderPrograms(ownerUrl: string): Promise<'retired' | 'still_running'> {
  return withOwner(ownerUrl, async (client) => {
    if (await areRetired(client)) return 'retired';
    const { rows } = await client.query<{ areRunning: boolean }>(
      `select exists (${olderPrograms}) as "areRunning"`,
    );
    if (rows[0]?.areRunning) return 'still_running';
    await runPatiently(client, `revoke sluice_kernel from ${appLogin}`);
    await client.query('update tenant_signing set is_required = true');
    return 'retired';
  });
}

/** Whether tenants count only with a signature, and the application login cannot step into the kernel's role. */
async function areRetired(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ isDone: boolean }>(
    `select (select is_required from tenant_signing)
        and not exists (select
                          from pg_auth_members m
                          join pg_roles l on l.oid = m.member
                          join pg_roles g on g.oid = m.roleid
                         where l.rolname = $1
                           and g.rolname = 'sluice_kernel') as "isDone"`,
    [appLogin],
  );
  return rows[0]?.isDone === true;
}

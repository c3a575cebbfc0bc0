import { withOwner } from '../../lib/postgres/client.ts';
import { effectsRole, groupRoles, runPatiently } from '../../lib/postgres/roles.ts';
import { quoteIdentifier } from '../../lib/postgres/sql.ts';

/**
 * Lets the effects of users' own pipelines use the tables that an application keeps beside Sluice's: those that the
 * owner may grant and on which no role of Sluice has a right. Every table of Sluice gives its roles some right, so none
 * of them is opened. Safe to repeat; false when the owner's login is not known here.
 */
export async function openAppTables(ownerUrl: string | null): Promise<boolean> {
  if (ownerUrl === null) return false;
  await withOwner(ownerUrl, async (client) => {
    const { rows } = await client.query<{ schema: string; name: string; kind: string }>(closedTables, [
      effectsRole,
      groupRoles.filter((role) => role !== effectsRole),
    ]);
    for (const schema of new Set(rows.map((row) => row.schema))) {
      await runPatiently(client, `grant usage on schema ${quoteIdentifier(schema)} to ${effectsRole}`);
    }
    for (const { schema, name, kind } of rows) {
      const rights = kind === 'S' ? 'usage, select on sequence' : 'select, insert, update, delete on table';
      const table = `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
      await runPatiently(client, `grant ${rights} ${table} to ${effectsRole}`);
    }
  });
  return true;
}

/** The one right that a login of an application needs to dispatch in its own transactions. */
export async function grantDispatch(ownerUrl: string, role: string): Promise<void> {
  await withOwner(ownerUrl, async (client) => {
    const grantee = quoteIdentifier(role);
    await runPatiently(client, `grant usage on schema public to ${grantee}`);
    await runPatiently(client, `grant execute on function ${dispatchFunction} to ${grantee}`);
  });
}

const dispatchFunction = 'public.sluice_dispatch(text, text, jsonb, text, timestamptz)';

/** Sequences of columns go with their tables: those of Sluice's own tables stay closed. */
const closedTables = `
  with granted as (
    select c.oid,
           bool_or(r.rolname = $1) as "isOpen",
           bool_or(r.rolname = any($2)) as "isSluices"
      from pg_class c
     cross join lateral aclexplode(c.relacl) a
      join pg_roles r on r.oid = a.grantee
     group by c.oid
  ), candidate as (
    select c.oid, n.nspname as schema, c.relname as name, c.relkind as kind,
           coalesce((select d.refobjid
                       from pg_depend d
                      where d.classid = 'pg_class'::regclass
                        and d.objid = c.oid
                        and d.refclassid = 'pg_class'::regclass
                        and d.deptype in ('a', 'i')
                        and c.relkind = 'S'
                      limit 1), c.oid) as owner_table
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
       and c.relpersistence <> 't'
       -- Whoever may use a partitioned table may use its partitions through it.
       and not c.relispartition
       and n.nspname not like 'pg\\_%'
       and n.nspname not in ('information_schema', 'sluice_bi')
       and pg_has_role(c.relowner, 'usage')
       and pg_has_role(n.nspowner, 'usage')
       and not exists (
         select
           from pg_depend d
          where d.classid = 'pg_class'::regclass
            and d.objid = c.oid
            and d.deptype = 'e')
  )
  select k.schema, k.name, k.kind::text as kind
    from candidate k
    left join granted g on g.oid = k.oid
    left join granted t on t.oid = k.owner_table
   where not coalesce(g."isOpen", false)
     and not coalesce(g."isSluices", false)
     and not coalesce(t."isSluices", false)`;

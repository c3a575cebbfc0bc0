import { type Sql, sql } from '../../lib/postgres/sql.ts';

export interface Standing {
  /** The offices that this candidate holds now. */
  held: string[];
  /** How many candidates there are for any of these offices, this one included. */
  candidates: number;
  /** How many of them come before this one in the order of looks. */
  rank: number;
  /** The database's clock. */
  nowMs: number;
  /** How long the term runs that expires next among those of others; null when this candidate holds all. */
  leftMs: number | null;
}

export interface Stand {
  candidate: string;
  offices: string[];
  termMs: number;
  /** After this long without a look, others no longer count this candidate. */
  keepMs: number;
}

/**
 * Renews the terms of this candidate, and takes over offices that are free or whose term has expired. As long as others
 * hold them all, it only reads.
 */
export function standStatement({ candidate, offices, termMs, keepMs }: Stand): Sql {
  return sql`
    with entered as (
      insert into office_candidates as c (candidate, offices, expires_at)
      select ${candidate}::uuid, ${offices}::text[], clock_timestamp() + ${keepMs} * interval '1 millisecond'
       where not exists (
         select from office_candidates k
          where k.candidate = ${candidate}::uuid
            and k.offices = ${offices}::text[]
            and k.expires_at > clock_timestamp() + ${keepMs / 2} * interval '1 millisecond')
      on conflict (candidate) do update
         set offices = excluded.offices,
             expires_at = excluded.expires_at
    ), free as (
      select w.office
        from unnest(${offices}::text[]) as w (office)
        left join offices o on o.office = w.office
       where o.office is null
          or o.holder = ${candidate}::uuid
          or o.expires_at < clock_timestamp()
       order by w.office
    ), held as (
      insert into offices as o (office, holder, expires_at)
      select f.office, ${candidate}::uuid, clock_timestamp() + ${termMs} * interval '1 millisecond'
        from free f
      on conflict (office) do update
         set holder = excluded.holder,
             term = case when o.holder = excluded.holder then o.term else o.term + 1 end,
             elected_at = case when o.holder = excluded.holder then o.elected_at else clock_timestamp() end,
             expires_at = clock_timestamp() + ${termMs} * interval '1 millisecond'
       where o.holder = excluded.holder
          or o.expires_at < clock_timestamp()
      returning o.office
    )
    select array(select h.office from held h) as held,
           count(*) filter (where c.candidate <> ${candidate}::uuid) + 1 as candidates,
           count(*) filter (where c.candidate < ${candidate}::uuid) as rank,
           (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
           (select (extract(epoch from min(o.expires_at) - clock_timestamp()) * 1000)::float8
              from offices o
             where o.office = any(${offices}::text[])
               and not exists (select from held h where h.office = o.office)) as "leftMs"
      from office_candidates c
     where c.offices && ${offices}::text[]
       and c.expires_at > clock_timestamp()`;
}

/** Ends these terms of this candidate, so that another takes over at its next look. */
export function resignStatement({ candidate, offices }: Pick<Stand, 'candidate' | 'offices'>): Sql {
  return sql`
    update offices o
       set expires_at = clock_timestamp()
     where o.office = any(${offices}::text[])
       and o.holder = ${candidate}::uuid`;
}

export function withdrawStatement(candidate: string): Sql {
  return sql`delete from office_candidates c where c.candidate = ${candidate}::uuid`;
}

/** Candidates that went away without resigning. */
export function forgetStatement(): Sql {
  return sql`delete from office_candidates c where c.expires_at < clock_timestamp() - interval '1 minute'`;
}

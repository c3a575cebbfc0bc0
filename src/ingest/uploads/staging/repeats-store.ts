import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { sumsOf } from '../reconciliation/sums-store.ts';
import { type AdditiveFigures, additiveFields, amountFields, countFields } from '../reports/types.ts';
import type { UploadKey } from '../types.ts';

/** Whether a key of the file's facts is on several lines. This one pass over them is all that plain files pay. */
export async function hasRepeats(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<boolean> {
  const found = await tx.find(sql`
    select 1 as found
      from staging_rows s
     where ${areFacts({ tenantId, uploadId })}
     group by s.natural_key_hash
    having count(*) > 1
     limit 1`);
  return found !== null;
}

/** Valid staged facts `s`. */
function areFacts({ tenantId, uploadId }: UploadKey): Sql {
  return sql`s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type in ('daily_metric', 'period_metric')
       and s.validation_status = 'valid'`;
}

const figures = [...countFields, ...amountFields];
/** Equal for lines that state the same, whatever zeros they end with. */
const said = trustedSql(
  `concat_ws('|', ${figures.map((figure) => `coalesce(trim_scale(s.${figure}::numeric)::text, '')`).join(', ')},
             coalesce(s.currency, ''))`,
);

/**
 * Records every line whose key is on other lines as well, and what becomes of it. Lines that differ in a dimension add
 * up. Without one, lines that only names identify add up as well, because they may be about two things of one name;
 * lines that ids identify count once when they are identical, and are refused when they contradict each other. Lines in
 * different currencies are never added.
 */
export async function recordRepeats(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<void> {
  await tx.run(sql`
    with repeated as materialized (
      select s.natural_key_hash
        from staging_rows s
       where ${areFacts({ tenantId, uploadId })}
       group by s.natural_key_hash
      having count(*) > 1
    ), facts as (
      select s.row_index, s.natural_key_hash, coalesce(s.dimensions, '{}') as dimensions, s.currency, ${said} as said,
             coalesce(s.ad_external_id, s.ad_set_external_id, s.campaign_external_id) like 'name:%' as is_by_name
        from staging_rows s
        join repeated r using (natural_key_hash)
       where ${areFacts({ tenantId, uploadId })}
    ), compared as (
      select f.row_index, f.is_by_name,
             min(f.row_index) over of_key as head_row,
             min(f.currency) over of_key <> max(f.currency) over of_key as is_mixed,
             min(f.said) over of_part = max(f.said) over of_part as is_same,
             row_number() over (partition by f.natural_key_hash, f.dimensions order by f.row_index) - 1 as occurrence
        from facts f
      window of_key as (partition by f.natural_key_hash),
             of_part as (partition by f.natural_key_hash, f.dimensions)
    )
    insert into staging_repeats (tenant_id, upload_id, row_index, head_row, part, occurrence)
    select ${tenantId}, ${uploadId}::uuid, c.row_index, c.head_row,
           case when c.is_mixed then 'refused'
                when c.is_by_name then 'adds'
                when not c.is_same then 'refused'
                when c.occurrence = 0 then 'adds'
                else 'duplicate' end,
           c.occurrence
      from compared c`);
}

/**
 * Takes out lines that sum up other lines of their key, as pivot tables have them: a cell of theirs stands for all
 * values, and they state what the more exact lines add up to, up to a cent for each. A segment that is called "All"
 * states something else and stays.
 */
export async function leaveOutSubtotals(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  allWords: readonly string[],
): Promise<number> {
  return tx.run(sql`
    with told as materialized (
      select r.row_index, r.head_row, s.impressions, s.spend, d.concrete, d.is_summary
        from staging_repeats r
        join staging_rows s
          on s.tenant_id = r.tenant_id and s.upload_id = r.upload_id and s.row_index = r.row_index
         and s.entity_type in ('daily_metric', 'period_metric')
       cross join lateral (
         select coalesce(jsonb_object_agg(e.key, e.value) filter (where not e.is_all), '{}') as concrete,
                coalesce(bool_or(e.is_all), false) as is_summary
           from (select c.key, c.value, lower(c.value) = any(${allWords}::text[]) as is_all
                   from jsonb_each_text(s.dimensions) c) e) d
       where r.tenant_id = ${tenantId}
         and r.upload_id = ${uploadId}
         and r.part = 'adds'
    ), summed as (
      select t.row_index
        from told t
        join told l
          on l.head_row = t.head_row and not l.is_summary and l.concrete @> t.concrete
       where t.is_summary
       group by t.row_index, t.impressions, t.spend
      having coalesce(t.impressions, t.spend) is not null
         and sum(l.impressions) is not distinct from t.impressions
         and abs(coalesce(sum(l.spend), 0) - coalesce(t.spend, 0)) <= 0.01 * count(*)
    )
    update staging_repeats r
       set part = 'duplicate', occurrence = -1
      from summed u
     where r.tenant_id = ${tenantId}
       and r.upload_id = ${uploadId}
       and r.row_index = u.row_index`);
}

/** Refuses the lines that contradict each other, each with the numbers of all of them. */
export async function refuseContradictions(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<void> {
  await tx.run(sql`
    with refused as (
      select s.row_index, s.line_no, s.natural_key_hash, coalesce(s.dimensions, '{}') as dimensions, s.currency,
             min(s.currency) over of_key <> max(s.currency) over of_key as is_mixed
        from staging_repeats r
        join staging_rows s
          on s.tenant_id = r.tenant_id and s.upload_id = r.upload_id and s.row_index = r.row_index
         and s.entity_type in ('daily_metric', 'period_metric')
       where r.tenant_id = ${tenantId}
         and r.upload_id = ${uploadId}
         and r.part = 'refused'
      window of_key as (partition by s.natural_key_hash)
    ), parted as (
      select f.*, case when f.is_mixed then '{}' else f.dimensions end as part
        from refused f
    ), groups as (
      select f.natural_key_hash, f.part, (array_agg(f.line_no order by f.line_no))[1:6] as lines, count(*) as count
        from parted f
       group by f.natural_key_hash, f.part
    )
    update staging_rows s
       set promotion_error = jsonb_build_object(
             'code', case when f.is_mixed then 'currencies_differ' else 'contradicting_lines' end,
             'message', format(
               'Lines %s are about the same day of the same campaign, ad set or ad and state different %s',
               array_to_string(g.lines, ', ') || case when g.count > 6 then ' and more' else '' end,
               case when f.is_mixed
                 then 'currencies, which cannot be added up. Upload one file per currency.'
                 else 'figures. Only one can be right: remove the others, or add the column that tells them apart.'
               end))
      from parted f
      join groups g using (natural_key_hash, part)
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type in ('daily_metric', 'period_metric')
       and s.row_index = f.row_index`);
}

/**
 * Writes the sums of lines that are added up to the first line of their key. Lines that were refused meanwhile are left
 * out, so it is called again when some are. Sums are computed from the lines each time and never added to.
 */
export async function sumRepeats(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  { heads = null }: { heads?: readonly number[] | null } = {},
): Promise<void> {
  const sums = trustedSql(additiveFields.map((field) => `sum(s.${field}) as ${field}`).join(', '));
  await tx.run(sql`
    with summed as (
      select r.head_row, count(*) as lines, case when count(*) = 1 then min(s.reach) end as reach,
             min(s.currency) as currency, ${sums}
        from staging_repeats r
        join staging_rows s
          on s.tenant_id = r.tenant_id and s.upload_id = r.upload_id and s.row_index = r.row_index
         and s.entity_type in ('daily_metric', 'period_metric') and s.promotion_error is null
       where r.tenant_id = ${tenantId}
         and r.upload_id = ${uploadId}
         and (${heads === null} or r.head_row = any(${heads ?? []}::integer[]))
         and r.part = 'adds'
       group by r.head_row
    )
    update staging_repeats h
       set lines = coalesce(m.lines, 0), reach = m.reach, currency = m.currency,
           ${trustedSql(additiveFields.map((field) => `${field} = m.${field}`).join(', '))}
      from staging_repeats k
      left join summed m on m.head_row = k.row_index
     where k.tenant_id = ${tenantId}
       and k.upload_id = ${uploadId}
       and k.head_row = k.row_index
       and (${heads === null} or k.row_index = any(${heads ?? []}::integer[]))
       and h.tenant_id = k.tenant_id
       and h.upload_id = k.upload_id
       and h.row_index = k.row_index`);
}

/** What the repeated lines of a file come to, for warnings and for the reconciliation. */
export interface RepeatFigures {
  /** Lines that are added to others, because a dimension tells them apart. */
  addedLines: number;
  addedKeys: number;
  /** Keys whose reach is left empty. */
  withoutReach: number;
  /** Lines without a dimension that only their names identify. */
  sameNames: number;
  duplicates: number;
  refused: number;
  /** What identical lines would have added. */
  duplicateSums: Record<string, string | null>;
  /** Unread columns that tell lines of one key apart, and how many lines they do so for. */
  columns: Record<string, number>;
}

export async function readRepeats(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<RepeatFigures> {
  const duplicateSums = trustedSql(
    additiveFields
      .map((field) => `'${field}', trim_scale(sum(s.${field}) filter (where r.part = 'duplicate'))::text`)
      .join(', '),
  );
  const row = await tx.find<Omit<RepeatFigures, 'columns'>>(sql`
    select count(*) filter (where r.part = 'adds' and h.lines > 1) as "addedLines",
           count(distinct r.head_row) filter (where r.part = 'adds' and h.lines > 1) as "addedKeys",
           count(distinct r.head_row) filter (where r.part = 'adds' and h.lines > 1 and s.reach is not null)
             as "withoutReach",
           count(*) filter (where r.part = 'adds' and r.occurrence > 0) as "sameNames",
           count(*) filter (where r.part = 'duplicate' and r.occurrence > 0) as duplicates,
           count(*) filter (where r.part = 'refused') as refused,
           jsonb_build_object(${duplicateSums}) as "duplicateSums"
      from staging_repeats r
      join staging_repeats h
        on h.tenant_id = r.tenant_id and h.upload_id = r.upload_id and h.row_index = r.head_row
      join staging_rows s
        on s.tenant_id = r.tenant_id and s.upload_id = r.upload_id and s.row_index = r.row_index
       and s.entity_type in ('daily_metric', 'period_metric')
     where r.tenant_id = ${tenantId}
       and r.upload_id = ${uploadId}`);
  if (!row) throw new Error('The query for the repeated lines returned no row');
  return { ...row, columns: await readTellingColumns(tx, { tenantId, uploadId }) };
}

/** Columns whose cells differ between lines of one key. A cell that is empty on some of the lines differs too. */
async function readTellingColumns(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
): Promise<Record<string, number>> {
  const rows = await tx.rows<{ header: string; lines: number }>(sql`
    with cells as (
      select r.head_row, e.key as header, count(*) as filled, count(distinct e.value) as values
        from staging_repeats r
        join staging_rows s
          on s.tenant_id = r.tenant_id and s.upload_id = r.upload_id and s.row_index = r.row_index
         and s.entity_type in ('daily_metric', 'period_metric')
       cross join lateral jsonb_each_text(s.dimensions) e
       where r.tenant_id = ${tenantId}
         and r.upload_id = ${uploadId}
       group by r.head_row, e.key
    ), keys as (
      select r.head_row, count(*) as lines
        from staging_repeats r
       where r.tenant_id = ${tenantId}
         and r.upload_id = ${uploadId}
       group by r.head_row
    )
    select c.header, sum(k.lines)::bigint as lines
      from cells c
      join keys k using (head_row)
     where c.values > 1 or c.filled < k.lines
     group by c.header
     order by c.header`);
  return Object.fromEntries(rows.map(({ header, lines }) => [header, lines]));
}

/** What the lines add up to that validation accepted and that were refused later. */
export async function sumRefused(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
): Promise<Partial<AdditiveFigures>> {
  const row = await tx.find<{ sums: Partial<AdditiveFigures> }>(sql`
    select ${sumsOf(sql`s`)} as sums
      from staging_rows s
      left join staging_repeats r
        on r.tenant_id = s.tenant_id and r.upload_id = s.upload_id and r.row_index = s.row_index
     where s.tenant_id = ${tenantId}
       and s.upload_id = ${uploadId}
       and s.entity_type in ('daily_metric', 'period_metric')
       and s.validation_status = 'valid'
       and s.promotion_error is not null
       and r.part is distinct from 'duplicate'`);
  return row?.sums ?? {};
}

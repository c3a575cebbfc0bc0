import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { UploadKey } from '../types.ts';

/** One reason for which rows were refused. */
export interface ProblemGroup {
  code: string;
  field: string;
  count: number;
  examples: { rowIndex: number; message: string; value: string | null; cells: Record<string, string> }[];
}

const examplesPerGroup = 3;
const maxCells = 60;
const maxCellLength = 200;

/**
 * Why rows were refused, the most frequent reason first, each with the first rows that have it. Uses the index of
 * refused rows. Only some cells of wide rows are shown.
 */
export function listProblemGroups(
  tx: Tx,
  { tenantId, uploadId, limit }: UploadKey & { limit: number },
): Promise<ProblemGroup[]> {
  return tx.rows<ProblemGroup>(sql`
    with problems as (
      select s.row_index, e.code, e.field
        from staging_rows s
        cross join lateral jsonb_to_recordset(s.validation_errors) as e (code text, field text)
       where s.tenant_id = ${tenantId}
         and s.upload_id = ${uploadId}
         and s.entity_type in ('daily_metric', 'period_metric')
         and s.validation_status = 'invalid'
      union all
      select s.row_index, s.promotion_error ->> 'code', 'row'
        from staging_rows s
       where s.tenant_id = ${tenantId}
         and s.upload_id = ${uploadId}
         and s.entity_type in ('daily_metric', 'period_metric')
         and s.promotion_error is not null
    ), groups as (
      select p.code, p.field, count(*) as count,
             (array_agg(p.row_index order by p.row_index))[1:${examplesPerGroup}::integer] as rows
        from problems p
       group by p.code, p.field
       order by count(*) desc, p.code, p.field
       limit ${limit}
    )
    select g.code, g.field, g.count, x.examples
      from groups g
      cross join lateral (
        select jsonb_agg(jsonb_build_object(
                 'rowIndex', s.row_index,
                 'message', coalesce(e.problem ->> 'message', s.promotion_error ->> 'message'),
                 'value', e.problem ->> 'value',
                 'cells', coalesce(c.cells, '{}')) order by s.row_index) as examples
          from unnest(g.rows) as n (row_index)
          join staging_rows s
            on s.tenant_id = ${tenantId} and s.upload_id = ${uploadId}
           and s.entity_type in ('daily_metric', 'period_metric')
           and s.row_index = n.row_index
          left join lateral (
            select problem
              from jsonb_array_elements(s.validation_errors) problem
             where problem ->> 'code' = g.code
               and problem ->> 'field' = g.field
             limit 1) e on true
          left join lateral (
            select jsonb_object_agg(k.key, left(k.value, ${maxCellLength}::integer)) as cells
              from (select key, value from jsonb_each_text(s.raw_data) limit ${maxCells}) k
             where k.value is not null) c on true) x
     order by g.count desc, g.code, g.field`);
}

/** How many rows were refused; a row with several problems counts once. */
export async function countRefused(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from staging_rows
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and entity_type in ('daily_metric', 'period_metric')
       and (validation_status = 'invalid' or promotion_error is not null)`);
  return row?.count ?? 0;
}

import type { Tx } from '../../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { ItemTemplate, TemplateKey } from './types.ts';

const columns = trustedSql(`
  tenant_id as "tenantId", name, processor, options, mapping, updated_by as "updatedBy", updated_at as "updatedAt"`);

export function findTemplate(tx: Tx, { tenantId, name }: TemplateKey): Promise<ItemTemplate | null> {
  return tx.find<ItemTemplate>(sql`
    select ${columns}
      from item_templates
     where tenant_id = ${tenantId}
       and name = ${name}`);
}

export function listTemplates(
  tx: Tx,
  { tenantId, limit }: { tenantId: string; limit: number },
): Promise<ItemTemplate[]> {
  return tx.rows<ItemTemplate>(sql`
    select ${columns}
      from item_templates
     where tenant_id = ${tenantId}
     order by name
     limit ${limit}`);
}

export async function countOtherTemplates(tx: Tx, { tenantId, name }: TemplateKey): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from item_templates
     where tenant_id = ${tenantId}
       and name <> ${name}`);
  return row?.count ?? 0;
}

export function saveTemplate(
  tx: Tx,
  template: Omit<ItemTemplate, 'updatedAt'>,
): Promise<ItemTemplate | null> {
  const { tenantId, name, processor, options, mapping, updatedBy } = template;
  return tx.find<ItemTemplate>(sql`
    insert into item_templates (tenant_id, name, processor, options, mapping, updated_by)
    values (${tenantId}, ${name}, ${processor}, ${JSON.stringify(options)}::json,
            ${mapping === null ? null : JSON.stringify(mapping)}::json, ${updatedBy})
    on conflict (tenant_id, name) do update
       set processor = excluded.processor,
           options = excluded.options,
           mapping = excluded.mapping,
           updated_by = excluded.updated_by,
           updated_at = clock_timestamp()
    returning ${columns}`);
}

export async function deleteTemplate(tx: Tx, { tenantId, name }: TemplateKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from item_templates
     where tenant_id = ${tenantId}
       and name = ${name}`);
  return deleted === 1;
}

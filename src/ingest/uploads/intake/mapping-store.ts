import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { HeaderMapping, Platform, Upload } from '../types.ts';

/** Saves a mapping made by hand, for later uploads. Called when an upload with it has succeeded. */
export async function rememberMapping(
  tx: Tx,
  { tenantId, platform, mapping, userId }: Pick<Upload, 'tenantId' | 'platform' | 'mapping' | 'userId'>,
): Promise<void> {
  if (Object.keys(mapping).length === 0) return;
  await tx.run(sql`
    insert into upload_mappings (tenant_id, platform, header, field, updated_by)
    select ${tenantId}, ${platform}, m.key, m.value, ${userId}
      from jsonb_each_text(${JSON.stringify(mapping)}::jsonb) m
     order by m.key
    on conflict (tenant_id, platform, header) do update
       set field = excluded.field,
           updated_by = excluded.updated_by,
           updated_at = clock_timestamp()`);
}

export async function readMapping(
  tx: Tx,
  { tenantId, platform }: { tenantId: string; platform: Platform },
): Promise<HeaderMapping> {
  const row = await tx.find<{ mapping: HeaderMapping }>(sql`
    select coalesce(jsonb_object_agg(m.header, m.field), '{}') as mapping
      from upload_mappings m
     where m.tenant_id = ${tenantId}
       and m.platform = ${platform}`);
  return row?.mapping ?? {};
}

/** The platforms that have a saved mapping, after those that uploads began with. */
export async function listMappedPlatforms(tx: Tx, tenantId: string): Promise<Platform[]> {
  const rows = await tx.rows<{ platform: Platform }>(sql`
    select distinct platform
      from upload_mappings
     where tenant_id = ${tenantId}
     order by platform`);
  return [...new Set(['meta', 'google', 'tiktok', ...rows.map(({ platform }) => platform)])];
}

/** Replaces the saved mapping of a platform. */
export async function replaceMapping(
  tx: Tx,
  given: Pick<Upload, 'tenantId' | 'platform' | 'mapping' | 'userId'>,
): Promise<void> {
  await tx.run(sql`
    delete from upload_mappings
     where tenant_id = ${given.tenantId}
       and platform = ${given.platform}`);
  await rememberMapping(tx, given);
}

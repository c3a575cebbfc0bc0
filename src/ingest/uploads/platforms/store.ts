import type { Tx } from '../../../lib/postgres/db.ts';
import { columnList, sql } from '../../../lib/postgres/sql.ts';
import type { PlatformDefinition } from '../reports/types.ts';

export interface PlatformKey {
  tenantId: string;
  name: string;
}

export interface OwnPlatform extends PlatformKey {
  version: number;
  profile: PlatformDefinition;
  createdBy: string;
  createdAt: Date;
  deletedAt: Date | null;
}

const columns = columnList('tenant_id name version profile created_by created_at deleted_at');

/** The newest version of each; deleted ones are left out. */
export function listPlatforms(tx: Tx, tenantId: string, limit: number): Promise<OwnPlatform[]> {
  return tx.rows<OwnPlatform>(sql`
    select ${columns}
      from (select distinct on (name) *
              from upload_platforms
             where tenant_id = ${tenantId}
             order by name, version desc) newest
     where deleted_at is null
     order by name
     limit ${limit}`);
}

/** The newest version, deleted or not. */
export function findNewest(tx: Tx, { tenantId, name }: PlatformKey): Promise<OwnPlatform | null> {
  return tx.find<OwnPlatform>(sql`
    select ${columns}
      from upload_platforms
     where tenant_id = ${tenantId}
       and name = ${name}
     order by version desc
     limit 1`);
}

export function findVersion(
  tx: Tx,
  { tenantId, name, version }: PlatformKey & { version: number },
): Promise<OwnPlatform | null> {
  return tx.find<OwnPlatform>(sql`
    select ${columns}
      from upload_platforms
     where tenant_id = ${tenantId}
       and name = ${name}
       and version = ${version}`);
}

/** Two writers of one version conflict on the key, and the second is told so. */
export async function insertVersion(
  tx: Tx,
  platform: Pick<OwnPlatform, 'tenantId' | 'name' | 'version' | 'profile' | 'createdBy'>,
): Promise<OwnPlatform | null> {
  return tx.find<OwnPlatform>(sql`
    insert into upload_platforms (tenant_id, name, version, profile, created_by)
    values (${platform.tenantId}, ${platform.name}, ${platform.version}, ${JSON.stringify(platform.profile)},
            ${platform.createdBy})
    on conflict do nothing
    returning ${columns}`);
}

export async function deleteVersion(
  tx: Tx,
  { tenantId, name, version }: PlatformKey & { version: number },
): Promise<boolean> {
  const deleted = await tx.run(sql`
    update upload_platforms
       set deleted_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and name = ${name}
       and version = ${version}
       and deleted_at is null`);
  return deleted > 0;
}

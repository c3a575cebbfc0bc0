import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { openSession, untilWaitedFor } from '../../../../test/support/probes/sessions.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { type Place, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);
const upload = randomUUID();
let place: Place;

beforeAll(async () => {
  place = await uploads.place();
});

const parents = [
  { table: 'campaigns', column: 'campaign_id' },
  { table: 'ad_sets', column: 'ad_set_id' },
  { table: 'ads', column: 'ad_id' },
] as const;
type Parent = (typeof parents)[number];

function insertParent({ table, column }: Parent): Promise<string> {
  return database
    .owner<{ id: string }>(
      `insert into ${table} (tenant_id, workspace_id, platform, external_id, is_name_key, as_of, created_by_upload,
         last_upload)
       values ($1, $2, 'meta', $3, false, now(), $4, $4) returning ${column} as id`,
      [place.tenantId, place.workspaceId, randomUUID(), upload],
    )
    .then(([row]) => row?.id ?? '');
}

function insertFact({ column }: Parent): string {
  return `insert into daily_metrics (tenant_id, workspace_id, platform, metric_date, ${column}, as_of,
            created_by_upload, last_upload)
          values ($1, $2, 'meta', '2026-03-01', $3, now(), $4, $4)`;
}

const factValues = (parentId: string) => [place.tenantId, place.workspaceId, parentId, upload];

describe.each(parents)('a fact and its parent among the $table', (parent) => {
  const remove = `delete from ${parent.table} where ${parent.column} = $1`;

  test('a fact whose parent does not exist is refused', async () => {
    await expect(database.owner(insertFact(parent), factValues(randomUUID()))).rejects.toMatchObject({
      code: '23503',
    });
  });

  test('a parent of another tenant cannot be used', async () => {
    const other = await uploads.place();
    const id = await insertParent(parent);
    await expect(
      database.owner(insertFact(parent), [other.tenantId, other.workspaceId, id, upload]),
    ).rejects.toMatchObject({ code: '23503' });
  });

  test('a parent with facts cannot be deleted, and one without facts can', async () => {
    const id = await insertParent(parent);
    await database.owner(insertFact(parent), factValues(id));
    await expect(database.owner(remove, [id])).rejects.toMatchObject({ code: '23503' });
    await database.owner(`delete from daily_metrics where ${parent.column} = $1`, [id]);
    await database.owner(remove, [id]);
  });

  test('deleting a parent waits for a fact that is being written, and is then refused', async () => {
    const id = await insertParent(parent);
    const [writer, deleter] = [await openSession(database), await openSession(database)];
    await writer.query('begin');
    await writer.query(insertFact(parent), factValues(id));
    const deletion = deleter.query(remove, [id]).then(
      () => 'deleted',
      (error: { code: string }) => error.code,
    );
    await untilWaitedFor(database, writer);
    await writer.query('commit');
    expect(await deletion).toBe('23503');
  });

  test('writing a fact waits for its parent that is being deleted, and is then refused', async () => {
    const id = await insertParent(parent);
    const [writer, deleter] = [await openSession(database), await openSession(database)];
    await deleter.query('begin');
    await deleter.query(remove, [id]);
    const writing = writer.query(insertFact(parent), factValues(id)).then(
      () => 'written',
      (error: { code: string }) => error.code,
    );
    await untilWaitedFor(database, deleter);
    await deleter.query('commit');
    expect(await writing).toBe('23503');
  });

  test('neither the parent nor the fact can change its key', async () => {
    const id = await insertParent(parent);
    await database.owner(insertFact(parent), factValues(id));
    const change = (table: string) =>
      database.owner(`update ${table} set ${parent.column} = gen_random_uuid() where ${parent.column} = $1`, [
        id,
      ]);
    await expect(change(parent.table)).rejects.toMatchObject({ code: '23000' });
    await expect(change('daily_metrics')).rejects.toMatchObject({ code: '23000' });
  });
});

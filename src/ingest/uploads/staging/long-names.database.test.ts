import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { adLine, adReport, range, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import type { Upload } from '../types.ts';

const database = useDatabase();
const uploads = useUploadRuns(database);

const kanji = (count: number) =>
  Array.from(randomBytes(count), (byte, at) => String.fromCodePoint(0x4e00 + byte * 64 + (at % 64))).join('');

async function send(content: string, place = uploads.place()) {
  const { kernel, delays } = await uploads.start();
  const { tenantId, workspaceId } = await place;
  const upload = await uploads.take({ tenantId, workspaceId }, content);
  await kernel.cycle({ budgetMs: 20_000, tenantId });
  return { upload, delays };
}

const reasonsOf = ({ uploadId }: Upload) =>
  database.owner<{ row_index: number; field: string; code: string }>(
    `select row_index, validation_errors -> 0 ->> 'field' as field, validation_errors -> 0 ->> 'code' as code
       from staging_rows where upload_id = $1 and validation_status = 'invalid' order by row_index`,
    [uploadId],
  );

const partial = { status: 'partial', error_code: 'rows_refused', promoted_rows: 39, failed_rows: 1 };

test('a name that is too long to serve as an id is refused, and all other rows are promoted', async () => {
  const names = range(40).map((n) => (n === 8 ? randomBytes(1_750).toString('hex') : `Campaign ${n}`));
  const lines = names.map((name, at) => `${name},2026-03-01,${at},1.00`);
  const { upload, delays } = await send(
    `Campaign name,Day,Impressions,Amount spent (USD)\n${lines.join('\n')}\n`,
  );
  expect(await uploads.upload(upload)).toMatchObject(partial);
  expect(await reasonsOf(upload)).toEqual([{ row_index: 7, field: 'campaign_name', code: 'name_too_long' }]);
  expect(delays).toEqual([]);
});

test('names of campaign, ad set and ad that are too long together are refused at the ad', async () => {
  const lines = range(40).map((n) => {
    const path = n === 40 ? range(3).map(() => kanji(400)) : [`C ${n}`, `S ${n}`, `A ${n}`];
    return `${path.join(',')},2026-03-01,${n},1.00`;
  });
  const { upload } = await send(
    `Campaign name,Ad set name,Ad name,Day,Impressions,Amount spent (USD)\n${lines.join('\n')}\n`,
  );
  expect(await uploads.upload(upload)).toMatchObject(partial);
  expect(await reasonsOf(upload)).toMatchObject([{ row_index: 39, code: 'name_too_long' }]);
});

test('names that are just short enough are kept, whatever the tenant is called', async () => {
  const [row] = await database.owner<{ tenant_id: string; workspace_id: string }>(
    `with tenant as (insert into tenants (tenant_id, name) values ($1, 'Long') returning tenant_id)
     insert into workspaces (tenant_id, workspace_id, name)
     select tenant_id, gen_random_uuid(), 'Main' from tenant
     returning tenant_id, workspace_id`,
    [randomBytes(100).toString('hex')],
  );
  const place = Promise.resolve({ tenantId: row?.tenant_id ?? '', workspaceId: row?.workspace_id ?? '' });
  const lines = [kanji(590), randomBytes(890).toString('hex')].map((name) => `${name},2026-03-01,1,1.00`);
  const { upload } = await send(
    `Campaign name,Day,Impressions,Amount spent (USD)\n${lines.join('\n')}\n`,
    place,
  );
  expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', campaigns_upserted: 2 });
});

test('names of entities with ids are kept however long they are', async () => {
  const name = randomBytes(5_000).toString('hex');
  const { upload } = await send(adReport([adLine(1, { name })]));
  expect(await uploads.upload(upload)).toMatchObject({ status: 'completed', promoted_rows: 1 });
});

test('a row that exceeds a limit of the database is left out, and all others are promoted', async () => {
  await database.owner(`
    create function refuse_long() returns trigger language plpgsql as $$
    begin
      if new.impressions = 80 then
        raise exception 'index row size 3568 exceeds btree version 4 maximum 2704' using errcode = '54000';
      end if;
      return new;
    end $$;
    create trigger refuse_long before insert on daily_metrics for each row execute function refuse_long()`);
  try {
    const { upload, delays } = await send(adReport(range(40).map((n) => adLine(n))));
    expect(await uploads.upload(upload)).toMatchObject(partial);
    const refused = await database.owner(
      `select row_index, promotion_error ->> 'code' as code, promotion_error ->> 'message' as message
         from staging_rows where upload_id = $1 and promotion_error is not null`,
      [upload.uploadId],
    );
    expect(refused).toEqual([
      { row_index: 7, code: 'name_too_long', message: expect.stringContaining('Shorten them') },
    ]);
    expect(delays).toEqual([]);
  } finally {
    await database.owner('drop trigger refuse_long on daily_metrics; drop function refuse_long()');
  }
});

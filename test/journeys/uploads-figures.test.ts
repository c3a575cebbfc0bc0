import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import {
  dayOf,
  type Entry,
  entries,
  ledger,
  mondayOf,
  report,
} from '../generators/ad-reports/figure-ledger.ts';
import { type UploadDesk, uploadForm, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// What was promoted, as people use it. The judge is a ledger that the test keeps of the lines that it writes.
const database = useDatabase();
const uploads = useUploads(database);

interface Group {
  key: string | null;
  name: string | null;
  currency: string | null;
  impressions: number | null;
  clicks: number | null;
  spend: number | null;
  rows: number;
  date_from: string;
  date_to: string;
  lineage: string;
}

interface Summary {
  data: Group[];
  totals: Group[];
  notes: { code: string }[];
  has_more: boolean;
  next_cursor: string | null;
}

interface Lineage {
  data: {
    spend: number;
    upload_id: string;
    filename: string | null;
    lines: { upload_id: string; line: number }[];
    line_count: number;
    campaign_name: string;
  }[];
  uploads: { upload_id: string; filename: string | null; spend: number; rows: number }[];
}

async function send(desk: UploadDesk, content: string, fields: Record<string, string>, name = 'report.csv') {
  const all = { workspace_id: desk.workspaceId, platform: 'google', force_partial: 'true', ...fields };
  const made = await uploads.call(desk.claims, '/api/uploads', 'POST', uploadForm(content, all, name));
  expect(made.status).toBe(201);
  await uploads.drive(desk.tenantId);
  const upload = await uploads.get(desk.claims, made.body.upload_id);
  expect(upload.status).toBe('completed');
  return upload.upload_id;
}

async function ask<T>({ claims }: UploadDesk, query: string, what = 'summary'): Promise<T> {
  const { status, body } = await uploads.call(claims, `/api/data/${what}?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as unknown as T;
}

async function allGroups(desk: UploadDesk, query: string, limit: number): Promise<Group[]> {
  const found: Group[] = [];
  let cursor: string | null = null;
  do {
    const page: Summary = await ask(
      desk,
      `${query}&limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    expect(page.data.length).toBeLessThanOrEqual(limit);
    found.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

const clients = [newId(), newId()];
const keys: Record<string, (entry: Entry) => string> = {
  day: ({ day }) => dayOf(day),
  week: ({ day }) => mondayOf(day),
  month: ({ day }) => dayOf(day).slice(0, 7),
  campaign: ({ client, campaign }) => `${client} Campaign ${campaign}`,
  ad: ({ client, campaign, ad }) => `${client} ${campaign} Ad ${ad}`,
  platform: () => 'google',
  client: ({ client }) => clients[client] ?? '',
};

const shown = ({ impressions, clicks, spend, rows }: Group) =>
  [impressions, clicks, Math.round((spend ?? 0) * 100), rows].join();

async function loadLedger(lines: readonly Entry[]): Promise<UploadDesk> {
  const desk = await uploads.desk();
  for (const [at, client] of clients.entries()) {
    const own = lines.filter((line) => line.client === at);
    if (own.length > 0) await send(desk, report(own), { client_id: client });
  }
  return desk;
}

describe('sums', () => {
  test('equal the ledger in every grouping, one per currency, over any pages', async () => {
    await fc.assert(
      fc.asyncProperty(entries, fc.integer({ min: 1, max: 20 }), async (lines, limit) => {
        const desk = await loadLedger(lines);
        for (const [groupBy, keyOf] of Object.entries(keys)) {
          const found = await allGroups(desk, `group_by=${groupBy}`, limit);
          expect(found.map(shown).toSorted(), groupBy).toEqual(ledger(lines, keyOf));
        }
        const { totals } = await ask<Summary>(desk, 'group_by=ad&limit=1');
        expect(totals.map(shown).toSorted()).toEqual(ledger(lines, () => ''));
      }),
      { numRuns: 12 },
    );
  });

  test('are filtered by client, campaign, platform, currency and days', async () => {
    const lines =
      fc.sample(entries, { numRuns: 30, seed: 7 }).toSorted((a, b) => b.length - a.length)[0] ?? [];
    const desk = await loadLedger(lines);
    const total = async (query: string) => (await ask<Summary>(desk, query)).totals.map(shown).toSorted();
    const only = (test: (entry: Entry) => boolean) => ledger(lines.filter(test), () => '');
    expect(await total(`client_id=${clients[1]}`)).toEqual(only(({ client }) => client === 1));
    expect(await total('client_id=none')).toEqual([]);
    expect(await total('campaign=campaign%202')).toEqual(only(({ campaign }) => campaign === 2));
    expect(await total('campaign=903')).toEqual(only(({ campaign }) => campaign === 3));
    expect(await total('platform=meta')).toEqual([]);
    expect(await total('currency=EUR')).toEqual(only(({ currency }) => currency === 'EUR'));
    expect(await total(`from=${dayOf(25)}&to=${dayOf(31)}`)).toEqual(
      only(({ day }) => day >= 25 && day <= 31),
    );
    const [first] = await allGroups(desk, 'group_by=campaign&sort=key', 500);
    const { body } = await uploads.call(
      desk.claims,
      `/api/daily-metrics?campaign_id=${first?.key}&limit=500`,
    );
    const listed = body.data as unknown as { campaign_name: string; client_id: string }[];
    expect(new Set(listed.map((row) => row.campaign_name))).toEqual(new Set(['Campaign 1']));
    const own = await uploads.call(desk.claims, `/api/daily-metrics?client_id=${clients[0]}&limit=500`);
    expect((own.body.data as unknown[]).length).toBe(lines.filter(({ client }) => client === 0).length);
  });

  test('are sorted by any figure in either direction, and a cursor belongs to its question', async () => {
    const desk = await loadLedger(fc.sample(entries, { numRuns: 1, seed: 11 })[0] ?? []);
    for (const sort of ['spend', 'impressions', 'conversions']) {
      const down = await allGroups(desk, `group_by=ad&sort=${sort}&order=desc`, 3);
      const values = down.map((group) => (group as unknown as Record<string, number | null>)[sort] ?? -1);
      expect(values).toEqual(values.toSorted((a, b) => b - a));
      const up = await allGroups(desk, `group_by=ad&sort=${sort}&order=asc`, 3);
      expect(up.map(shown).toSorted()).toEqual(down.map(shown).toSorted());
    }
    const { next_cursor: cursor } = await ask<Summary>(desk, 'group_by=ad&limit=1');
    const other = await uploads.call(desk.claims, `/api/data/summary?group_by=day&limit=1&cursor=${cursor}`);
    expect(other).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
  });

  test('keep reports without a day apart from days, and ranges from each other', async () => {
    const desk = await uploads.desk();
    const period = 'Campaign,Campaign ID,Impr.,Clicks,Cost,Currency code\nSpring,11,100,10,5.00,EUR\n';
    await send(desk, period, { date_from: '2026-03-01', date_to: '2026-03-31' });
    await send(desk, period, { date_from: '2026-03-01', date_to: '2026-03-15' });
    expect((await ask<Summary>(desk, 'group_by=campaign')).totals).toEqual([]);
    const { data, totals } = await ask<Summary>(desk, 'kind=period&group_by=campaign');
    expect(data.map(({ date_from, date_to, spend }) => [date_from, date_to, spend])).toEqual([
      ['2026-03-01', '2026-03-15', 5],
      ['2026-03-01', '2026-03-31', 5],
    ]);
    expect(totals).toHaveLength(2);
    for (const { lineage, spend } of data) {
      const { body } = await uploads.call(desk.claims, lineage);
      expect((body as unknown as Lineage).data.map((row) => row.spend)).toEqual([spend]);
    }
    const refused = await uploads.call(desk.claims, '/api/data/summary?kind=period&group_by=week');
    expect(refused).toMatchObject({ status: 400, body: { code: 'grouping_not_possible' } });
  });

  test('name campaigns that reports of several levels state, and count one level on request', async () => {
    const desk = await uploads.desk();
    const line: Entry = {
      client: 0,
      campaign: 1,
      ad: 1,
      day: 25,
      currency: 'EUR',
      impressions: 70,
      cents: 150,
    };
    await send(desk, report([line, { ...line, ad: 2 }]), {});
    expect((await ask<Summary>(desk, '')).notes).toEqual([]);
    const byCampaign = `Day,Campaign,Campaign ID,Impr.,Cost,Currency code\n${dayOf(25)},Campaign 1,901,140,3.00,EUR\n`;
    await send(desk, byCampaign, {});
    const mixed = await ask<Summary>(desk, 'group_by=campaign');
    expect(mixed.notes).toMatchObject([
      { code: 'levels_overlap', message: expect.stringMatching(/on 1 days/) },
    ]);
    expect(mixed.totals[0]?.spend).toBe(6);
    for (const level of ['ad', 'campaign']) {
      const { totals, notes } = await ask<Summary>(desk, `level=${level}`);
      expect([totals[0]?.spend, notes]).toEqual([3, []]);
    }
  });

  test('hide what other tenants have, and a reversed range is refused', async () => {
    await loadLedger([
      { client: 0, campaign: 1, ad: 1, day: 25, currency: 'EUR', impressions: 7, cents: 100 },
    ]);
    const stranger = await uploads.desk();
    expect((await ask<Summary>(stranger, 'group_by=campaign')).totals).toEqual([]);
    const refused = await uploads.call(stranger.claims, '/api/data/summary?from=2026-03-02&to=2026-03-01');
    expect(refused).toMatchObject({ status: 400, body: { code: 'range_reversed' } });
  });
});

describe('lineage', () => {
  test('leads from every group to rows, uploads and lines that add up to it', async () => {
    const lines = fc.sample(entries, { numRuns: 1, seed: 3 })[0] ?? [];
    const desk = await loadLedger(lines);
    for (const groupBy of ['week', 'campaign', 'client', 'platform']) {
      for (const group of await allGroups(desk, `group_by=${groupBy}`, 500)) {
        const { body } = await uploads.call(desk.claims, `${group.lineage}&limit=500`);
        const { data, uploads: sources } = body as unknown as Lineage;
        const cents = (rows: { spend: number }[]) =>
          rows.reduce((sum, { spend }) => sum + Math.round(spend * 100), 0);
        const whole = Math.round((group.spend ?? 0) * 100);
        expect([cents(data), cents(sources), data.length]).toEqual([whole, whole, group.rows]);
        expect(data.every((row) => row.line_count === 1 && row.filename === 'report.csv')).toBe(true);
      }
    }
  });

  test('names the line of each row, and all lines of a breakdown, also after a later file', async () => {
    const desk = await uploads.desk();
    const plain = (spend: string) =>
      `Day,Campaign,Campaign ID,Impr.,Cost\n2026-03-01,A,1,10,1.00\n2026-03-02,A,1,10,${spend}\n`;
    const first = await send(desk, plain('2.00'), {}, 'first.csv');
    const second = await send(desk, plain('2.50'), {}, 'second.csv');
    const { data } = await ask<Lineage>(desk, '', 'lineage');
    // The first day was only confirmed by the second file.
    expect(data.map(({ filename, lines }) => [filename, lines])).toEqual([
      ['first.csv', [{ upload_id: first, line: 2 }]],
      ['second.csv', [{ upload_id: second, line: 3 }]],
    ]);
    const devices = [
      'Day,Campaign,Campaign ID,Device,Impr.,Cost',
      '2026-04-01,B,2,Phones,5,1.00',
      '2026-04-01,B,2,Tablets,6,2.00',
      '',
    ].join('\n');
    const broken = await send(desk, devices, {}, 'devices.csv');
    const found = await ask<Lineage>(desk, 'from=2026-04-01', 'lineage');
    expect(found.data).toMatchObject([
      {
        spend: 3,
        line_count: 2,
        lines: [
          { upload_id: broken, line: 2 },
          { upload_id: broken, line: 3 },
        ],
      },
    ]);
    // One line changes: the other one still came from the first of the two files.
    const changed = await send(desk, devices.replace('2.00', '2.25'), {}, 'changed.csv');
    const after = await ask<Lineage>(desk, 'from=2026-04-01', 'lineage');
    expect(after.data).toMatchObject([
      {
        spend: 3.25,
        filename: 'changed.csv',
        lines: [
          { upload_id: broken, line: 2 },
          { upload_id: changed, line: 3 },
        ],
      },
    ]);
  });

  test('does not tell a member the names of files that others uploaded', async () => {
    const desk = await uploads.desk();
    await send(desk, `Day,Campaign,Campaign ID,Impr.,Cost\n2026-03-01,A,1,10,1.00\n`, {}, 'secret-plan.csv');
    const member = {
      ...desk,
      claims: { tenantId: desk.tenantId, role: 'member' as const, userId: 'someone' },
    };
    const found = await ask<Lineage>(member, '', 'lineage');
    expect(found.data).toMatchObject([{ spend: 1, filename: null }]);
    expect(JSON.stringify(found)).not.toContain('secret-plan');
  });
});

describe('exports', () => {
  async function download(desk: UploadDesk, query: string): Promise<Buffer> {
    const headers = await uploads.server.bearer(desk.claims);
    const answer = await fetch(`${uploads.server.url}/api/data/export?${query}`, { headers });
    expect(answer.status).toBe(200);
    return Buffer.from(await answer.arrayBuffer());
  }
  const csvOf = (bytes: Buffer) => parse(bytes, { columns: true, bom: true }) as Record<string, string>[];
  const parquetOf = (bytes: Buffer) =>
    parquetReadObjects({
      file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
    });

  test('as CSV and Parquet have every row of the ledger, with typed columns', async () => {
    const lines = fc.sample(entries, { numRuns: 20, seed: 5 }).flat().slice(0, 400);
    const unique = [
      ...new Map(
        lines.map((line) => [[line.client, line.campaign, line.ad, line.day].join(), line]),
      ).values(),
    ];
    const desk = await loadLedger(unique);
    const expected = unique
      .map((line) =>
        [dayOf(line.day), `Campaign ${line.campaign}`, line.impressions, line.cents, line.currency].join(),
      )
      .toSorted();
    const csv = csvOf(await download(desk, 'format=csv'));
    expect(
      csv
        .map((row) =>
          [
            row.metric_date,
            row.campaign_name,
            row.impressions,
            Math.round(Number(row.spend) * 100),
            row.currency,
          ].join(),
        )
        .toSorted(),
    ).toEqual(expected);
    const parquet = await parquetOf(await download(desk, 'format=parquet'));
    expect(
      parquet
        .map((row) => {
          expect(row.metric_date).toBeInstanceOf(Date);
          const day = (row.metric_date as Date).toISOString().slice(0, 10);
          return [day, row.campaign_name, row.impressions, Math.round(row.spend * 100), row.currency].join();
        })
        .toSorted(),
    ).toEqual(expected);
    expect(
      parquet.every(({ line, upload_id: id }) => typeof line === 'bigint' && typeof id === 'string'),
    ).toBe(true);
  });

  test('give the summary when they are grouped, page after page', async () => {
    const desk = await loadLedger(fc.sample(entries, { numRuns: 1, seed: 9 })[0] ?? []);
    const groups = await allGroups(desk, 'group_by=campaign', 500);
    const csv = csvOf(await download(desk, 'format=csv&group_by=campaign'));
    expect(csv.map((row) => [row.key, row.name, Number(row.spend), row.currency])).toEqual(
      groups.map((group) => [group.key, group.name, group.spend, group.currency]),
    );
  });

  test('write a negative amount as a number, and guard names that a spreadsheet would run', async () => {
    const desk = await uploads.desk();
    await send(desk, `Day,Campaign,Campaign ID,Impr.,Cost\n2026-03-01,=cmd(),1,10,-1.50\n`, {});
    const [row] = csvOf(await download(desk, 'format=csv'));
    expect(row).toMatchObject({ spend: '-1.5', campaign_name: "'=cmd()" });
  });
});

import { describe, expect, test } from 'vitest';
import { profileSchema } from '../../src/ingest/uploads/platforms/profile-schema.ts';
import { builtInPlatforms } from '../../src/ingest/uploads/reports/platforms/built-in.ts';
import { type UploadDesk, uploadForm, useUploads } from '../support/servers/upload-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

// Platforms as data: those that come with Sluice, and those that a tenant defines.
const database = useDatabase();
const uploads = useUploads(database);

const stored = (tenantId: string) =>
  database.owner<Record<string, string | null>>(
    `select c.external_id as campaign, metric_date::text as day, impressions::text, clicks::text,
            link_clicks::text, trim_scale(spend)::text as spend, trim_scale(conversions)::text as conversions,
            trim_scale(conversion_value)::text as value, currency, m.platform
       from daily_metrics m left join campaigns c using (tenant_id, campaign_id)
      where tenant_id = $1
      order by 1, 2`,
    [tenantId],
  );

async function send(desk: UploadDesk, platform: string, content: string, name = 'report.csv') {
  const form = uploadForm(content, { workspace_id: desk.workspaceId, platform }, name);
  const made = await uploads.call(desk.claims, '/api/uploads', 'POST', form);
  await uploads.drive(desk.tenantId);
  return { made, record: made.status === 201 ? await uploads.get(desk.claims, made.body.upload_id) : null };
}

/** Downloads with columns that the platforms' documentation names; title lines and footers are not from there. */
const downloads: Record<string, { platform: string; content: string; expected: object[] }> = {
  'Microsoft Advertising, from the web interface': {
    platform: 'microsoft',
    content: [
      '"Report Name: Campaigns"',
      '"Report Time: 3/1/2026 - 3/2/2026"',
      '"Time Zone: (GMT+01:00) Amsterdam, Berlin"',
      '',
      '"Gregorian date","Account name","Campaign","Campaign ID","Device type","Currency code","Impressions","Clicks",' +
        '"Spend","Conversions","Revenue"',
      '"2026-03-01","Acme","Spring","5001","Computer","EUR","1,200","30","12.50","2","80.00"',
      '"2026-03-01","Acme","Spring","5001","Smartphone","EUR","800","20","7.25","1","20.00"',
      '"2026-03-02","Acme","Spring","5001","Computer","EUR","900","9","3.00","0","0.00"',
      '"©2026 Microsoft Corporation. All rights reserved. "',
    ].join('\r\n'),
    expected: [
      {
        campaign: '5001',
        day: '2026-03-01',
        impressions: '2000',
        clicks: '50',
        spend: '19.75',
        value: '100',
      },
      { campaign: '5001', day: '2026-03-02', impressions: '900', clicks: '9', spend: '3', value: '0' },
    ],
  },
  'Microsoft Advertising, from the API': {
    platform: 'microsoft',
    content: [
      'TimePeriod,CampaignName,CampaignId,AdGroupName,AdGroupId,CurrencyCode,Impressions,Clicks,' +
        'Spend,Conversions,Revenue',
      '2026-03-01,Spring,5001,Shoes,6001,USD,100,5,1.5,1,9.99',
    ].join('\n'),
    expected: [{ campaign: '5001', spend: '1.5', conversions: '1', value: '9.99', currency: 'USD' }],
  },
  'LinkedIn, from the Campaign Manager': {
    platform: 'linkedin',
    content: [
      'Campaign Performance Report',
      'Report Start: March 1, 2026',
      '',
      'Start Date (in UTC)\tAccount Name\tCurrency\tCampaign Group Name\tCampaign Name\tCampaign ID\tImpressions\t' +
        'Clicks\tTotal Spent\tConversions\tTotal Conversion Value',
      '03/13/2026\tAcme\tUSD\tAlways on\tLeads DACH\t700001\t5,000\t40\t210.40\t3\t450.00',
      '03/14/2026\tAcme\tUSD\tAlways on\tLeads DACH\t700001\t4,000\t31\t180.10\t2\t300.00',
    ].join('\r\n'),
    expected: [
      { campaign: '700001', day: '2026-03-13', impressions: '5000', spend: '210.4', value: '450' },
      { campaign: '700001', day: '2026-03-14', impressions: '4000', spend: '180.1', value: '300' },
    ],
  },
  'Pinterest, from the Ads Manager': {
    platform: 'pinterest',
    content: [
      'Date,Campaign ID,Campaign name,Ad group ID,Ad group name,Spend in account currency,Impressions,Pin clicks,' +
        'Outbound clicks,Total conversions (Checkout),Total order value (Checkout)',
      '2026-03-01,626,Spring,2680,Boards,15.20,3000,90,40,2,64.00',
    ].join('\n'),
    expected: [{ campaign: '626', clicks: '90', link_clicks: '40', spend: '15.2', value: '64' }],
  },
  'Pinterest, from the API': {
    platform: 'pinterest',
    content: JSON.stringify([
      {
        DATE: '2026-03-01',
        CAMPAIGN_ID: '626',
        SPEND_IN_MICRO_DOLLAR: 15200000,
        TOTAL_IMPRESSION: 3000,
        TOTAL_CLICKTHROUGH: 90,
      },
    ]),
    expected: [{ campaign: '626', spend: '15.2', impressions: '3000', clicks: '90' }],
  },
};

test.each(Object.entries(downloads))(
  'a report of %s is stored',
  async (_, { platform, content, expected }) => {
    const desk = await uploads.desk();
    const { record } = await send(desk, platform, content);
    expect(record).toMatchObject({ status: expect.stringMatching(/completed|partial/), platform });
    expect(record?.reconciliation).toMatchObject({ agrees: true });
    expect(await stored(desk.tenantId)).toMatchObject(expected);
  },
);

test('a Google report that is sent as Microsoft’s is refused with the platform that it looks like', async () => {
  const content =
    'Campaign report\n"March 1, 2026 - March 2, 2026"\n' +
    'Campaign status,Campaign,Budget name,Optimization score,Day,Impr.,Clicks,Avg. CPC,Cost,Conv. value\n' +
    'Enabled,Spring,Main,80%,2026-03-01,10,1,1.00,1.00,5\n';
  const { record } = await send(await uploads.desk(), 'microsoft', content);
  expect(record).toMatchObject({ status: 'failed', error_code: 'wrong_platform' });
});

test('the profiles that come with Sluice have the form of tenants’ own', () => {
  for (const { platform, ...profile } of Object.values(builtInPlatforms)) {
    expect([platform, profileSchema.safeParse(profile).error?.issues ?? []]).toEqual([platform, []]);
  }
});

const profile = {
  title: 'Shop radio',
  aliases: {
    metric_date: 'Aired on',
    campaign_name: ['Spot', 'Spot name'],
    spend: 'Paid',
    impressions: ['Listeners'],
  },
  dimensions: ['Station'],
  total_labels: ['Everything'],
  decimal_mark: ',',
  date_order: 'dmy',
} as const;

const put = (desk: UploadDesk, name: string, body: object) =>
  uploads.call(desk.claims, `/api/uploads/platforms/${name}`, 'PUT', body);

describe('a platform of the tenant’s own', () => {
  test('takes reports in by its columns, its labels and its way of writing', async () => {
    const desk = await uploads.desk();
    expect(await put(desk, 'radio', profile)).toMatchObject({
      status: 200,
      body: { name: 'radio', version: 1, is_built_in: false },
    });
    const content =
      'Spot;Aired on;Station;Listeners;Paid\n' +
      'Jingle;01/02/2026;North;1.000;1.234\nJingle;01/02/2026;South;500;10,5\nEverything;;;1.500;1.244,5\n';
    const { record } = await send(desk, 'radio', content);
    expect(record).toMatchObject({
      status: 'completed',
      platform: 'radio',
      platform_version: 1,
      total_rows: 2,
    });
    expect(await stored(desk.tenantId)).toMatchObject([
      {
        campaign: 'name:["Jingle"]',
        day: '2026-02-01',
        impressions: '1500',
        spend: '1244.5',
        platform: 'radio',
      },
    ]);
    expect(record?.reconciliation).toMatchObject({
      agrees: true,
      figures: { spend: { total_row: '1244.5', promoted: '1244.5' } },
    });
  });

  test('keeps every version: an upload is read with the one that it came in with', async () => {
    const desk = await uploads.desk();
    await put(desk, 'radio', profile);
    const content = 'Spot;Aired on;Paid;Fee\nJingle;01/02/2026;5,5;7,5\n';
    const form = uploadForm(content, { workspace_id: desk.workspaceId, platform: 'radio' });
    const made = await uploads.call(desk.claims, '/api/uploads', 'POST', form);
    const changed = { ...profile, aliases: { ...profile.aliases, spend: 'Fee' } };
    expect((await put(desk, 'radio', changed)).body).toMatchObject({ version: 2 });
    expect((await put(desk, 'radio', changed)).body).toMatchObject({ version: 2 });
    const del = await uploads.call(desk.claims, '/api/uploads/platforms/radio', 'DELETE');
    expect(del.status).toBe(204);
    await uploads.drive(desk.tenantId);
    expect(await uploads.get(desk.claims, made.body.upload_id)).toMatchObject({
      status: 'completed',
      platform_version: 1,
    });
    expect(await stored(desk.tenantId)).toMatchObject([{ spend: '5.5' }]);
    expect((await send(desk, 'radio', content)).made).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/platform' }] },
    });
    expect((await uploads.call(desk.claims, '/api/uploads/platforms/radio')).status).toBe(404);
    expect((await put(desk, 'radio', changed)).body).toMatchObject({ version: 3 });
  });

  test('is listed beside the built-in ones, for its tenant only', async () => {
    const [desk, other] = [await uploads.desk(), await uploads.desk()];
    await put(desk, 'radio', profile);
    const names = async ({ claims }: UploadDesk) => {
      const { body } = await uploads.call(claims, '/api/uploads/platforms');
      return (body.data as { name: string }[]).map(({ name }) => name);
    };
    const builtIn = ['meta', 'google', 'tiktok', 'microsoft', 'linkedin', 'pinterest'];
    expect(await names(desk)).toEqual([...builtIn, 'radio']);
    expect(await names(other)).toEqual(builtIn);
    expect((await send(other, 'radio', 'Spot;Aired on;Paid\nA;01/02/2026;1\n')).made.status).toBe(400);
    const meta = await uploads.call(desk.claims, '/api/uploads/platforms/meta');
    expect(meta.body).toMatchObject({ is_built_in: true, profile: { title: 'Meta' } });
  });

  test('reads JSON by the paths of its profile', async () => {
    const desk = await uploads.desk();
    const api = { metric_date: ['when'], campaign_id: ['spot.id'], spend: ['money.micros'] };
    await put(desk, 'radio', { ...profile, api, micros: ['money.micros'] });
    const content = JSON.stringify({
      data: [{ when: '2026-02-01', spot: { id: '77' }, money: { micros: 2500000 } }],
    });
    const { record } = await send(desk, 'radio', content, 'report.json');
    expect(record).toMatchObject({ status: 'completed' });
    expect(await stored(desk.tenantId)).toMatchObject([{ campaign: '77', spend: '2.5' }]);
  });

  const wrong: [string, string, object, number, string, string | null][] = [
    ['a built-in name', 'meta', profile, 409, 'platform_reserved', null],
    ['a bad name', 'Radio!', profile, 400, 'malformed_request', null],
    ['no entity', 'radio', { aliases: { spend: 'Paid' } }, 422, 'platform_invalid', '/aliases'],
    ['no figure', 'radio', { aliases: { campaign_name: 'Spot' } }, 422, 'platform_invalid', '/aliases'],
    [
      'one name for two fields',
      'radio',
      { aliases: { campaign_name: 'Spot', spend: ['Paid'], clicks: ['paid'] } },
      422,
      'platform_invalid',
      '/aliases/clicks',
    ],
    [
      'an unknown field',
      'radio',
      { aliases: { campaign: 'Spot', spend: 'Paid' } },
      400,
      'malformed_request',
      null,
    ],
  ];
  test.each(wrong)('with %s is refused', async (_, name, body, status, code, pointer) => {
    const answer = await put(await uploads.desk(), name, body);
    expect(answer).toMatchObject({ status, body: { code } });
    if (pointer !== null) expect(answer.body.errors).toMatchObject([{ pointer }]);
  });

  test('is defined by admins and services, and read by everybody', async () => {
    const desk = await uploads.desk();
    for (const role of ['member', 'support'] as const) {
      const answer = await put({ ...desk, claims: { ...desk.claims, role } }, 'radio', profile);
      expect(answer.status).toBe(403);
    }
    await put(desk, 'radio', profile);
    const member = { ...desk.claims, role: 'member' as const };
    expect((await uploads.call(member, '/api/uploads/platforms/radio')).status).toBe(200);
  });
});

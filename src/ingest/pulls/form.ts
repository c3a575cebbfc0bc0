import { z } from 'zod';
import type { FilePlaceForms } from '../../kernel/house/doors.ts';
import { storedText } from '../../kernel/http/stored-text.ts';
import { isTimeZone } from '../../kernel/schedule/cron.ts';

/** Sources of uploads as requests write them. */
const line = (max: number) =>
  storedText(max).refine((text) => !/\p{Cc}/u.test(text), 'must not contain control characters');

const secretName = line(200)
  .min(1)
  .describe('The name of one of the tenant’s secrets (PUT /api/secrets/{name})');

const webAddress = line(2_000).refine(
  (text) => /^https?:\/\//i.test(text) && URL.canParse(text) && new URL(text).username === '',
  'must be an http or https URL without a user name',
);

const auth = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('none') }),
    z.strictObject({ type: z.literal('bearer'), secret: secretName }),
    z.strictObject({ type: z.literal('basic'), user: line(200).min(1), password_secret: secretName }),
    z.strictObject({
      type: z.literal('header'),
      name: z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be letters, digits and dashes'),
      secret: secretName,
    }),
  ])
  .default({ type: 'none' });

const urlPlace = z.strictObject({
  kind: z.literal('url'),
  url: webAddress
    .describe('May hold {date_from} and {date_to}, which become the days that a pull asks for')
    .meta({ examples: ['https://reports.example.com/daily.csv?from={date_from}&to={date_to}'] }),
  auth,
});

/** Digits, as people copy them: `act_123`, `123-456-7890`. */
const accountId = (describe: string, example: string) =>
  z
    .string()
    .transform((text) => text.replace(/^act_/, '').replaceAll('-', ''))
    .pipe(z.string().regex(/^\d{1,25}$/, 'must be digits'))
    .describe(describe)
    .meta({ examples: [example] });

const level = (usual: 'campaign' | 'ad') =>
  z
    .enum(['campaign', 'ad_set', 'ad'])
    .default(usual)
    .describe('What each line is about, per day; more lines take longer');

const version = (usual: string) =>
  z
    .string()
    .regex(/^v\d{1,3}(\.\d{1,3})?$/, 'must be a version such as v25 or v25.0')
    .default(usual)
    .describe('Of the platform’s API');

const endpoint = (usual: string) =>
  webAddress.default(usual).describe('Another address for a proxy or a test; secrets are bound to its host');

const metaPlace = z.strictObject({
  kind: z.literal('meta'),
  account_id: accountId('The ad account, with or without act_', '1234567890'),
  access_token_secret: secretName,
  app_secret_secret: secretName
    .nullish()
    .transform((value) => value ?? null)
    .describe('Where the app requires a proof of its secret with every call'),
  level: level('ad'),
  report_run: z
    .boolean()
    .default(true)
    .describe('Meta prepares the report first; without it a large one is refused as too much data'),
  api_version: version('v25.0'),
  endpoint: endpoint('https://graph.facebook.com'),
});

const googlePlace = z.strictObject({
  kind: z.literal('google'),
  customer_id: accountId('The account, with or without dashes', '123-456-7890'),
  login_customer_id: accountId('The manager account that has access, if there is one', '111-222-3333')
    .nullish()
    .transform((value) => value ?? null),
  client_id: line(300).min(1).describe('Of the OAuth client'),
  client_secret_secret: secretName,
  refresh_token_secret: secretName,
  developer_token_secret: secretName,
  level: level('campaign').describe(
    'What each line is about, per day. Performance Max and some other campaigns have figures only per campaign',
  ),
  api_version: version('v25'),
  endpoint: endpoint('https://googleads.googleapis.com'),
  token_endpoint: endpoint('https://oauth2.googleapis.com/token'),
});

const tiktokPlace = z.strictObject({
  kind: z.literal('tiktok'),
  advertiser_id: accountId('The advertiser', '6900000000000000000'),
  access_token_secret: secretName,
  level: level('ad'),
  api_version: version('v1.3'),
  endpoint: endpoint('https://business-api.tiktok.com'),
});

export type UrlPlace = z.output<typeof urlPlace>;
export type MetaPlace = z.output<typeof metaPlace>;
export type GooglePlace = z.output<typeof googlePlace>;
export type TiktokPlace = z.output<typeof tiktokPlace>;
export type ApiPlace = MetaPlace | GooglePlace | TiktokPlace;

const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();

const settings = {
  name: line(200).min(1).describe('Unique among the sources of the tenant'),
  workspace_id: z.uuid('must be the UUID of a workspace'),
  client_id: orNull(z.uuid('must be a UUID')),
  platform: line(40)
    .min(1)
    .describe(
      'How the reports are read; GET /api/uploads/platforms lists them. An API’s own need not be given',
    ),
  restate_days: z
    .int()
    .min(1)
    .max(180)
    .describe(
      'How many days up to yesterday each pull asks for, so that late conversions replace earlier figures',
    ),
  enabled: z.boolean().describe('False: pulled only on request'),
  cadence_hours: orNull(z.number().positive().max(8_760)).describe('Null: as often as the plan allows'),
  cron: orNull(line(200).min(1)).describe('Five fields, such as `0 6 * * *`; instead of cadence_hours'),
  time_zone: z
    .string()
    .min(1)
    .max(100)
    .refine(isTimeZone, 'must be a time zone, such as Europe/Berlin or UTC')
    .describe('Of the ad account: it decides which day is yesterday, and when cron is due'),
};

/** The forms of an S3 prefix and an FTP directory belong to the house that opens them. */
export function sourceForms(files: FilePlaceForms) {
  const place = z.discriminatedUnion('kind', [
    urlPlace,
    files.s3,
    files.ftp,
    metaPlace,
    googlePlace,
    tiktokPlace,
  ]);
  const change = z.strictObject({
    name: settings.name.optional(),
    client_id: settings.client_id.optional(),
    place: place.optional().describe('Where the reports are; replaced as a whole'),
    restate_days: settings.restate_days.optional(),
    enabled: settings.enabled.optional(),
    cadence_hours: settings.cadence_hours.optional(),
    cron: settings.cron.optional(),
    time_zone: settings.time_zone.optional(),
  });
  const creation = change.extend({
    name: settings.name,
    workspace_id: settings.workspace_id,
    platform: settings.platform.optional(),
    place: place.describe('Where the reports are'),
  });
  return { creation, change };
}

const day = z.iso.date('must be a day such as 2026-03-01');

export const pullFields = z.strictObject({
  date_from: day.optional().describe('Days further back than restate_days, such as the first months'),
  date_to: day.optional(),
});

export const sourceParams = z.strictObject({ source_id: z.uuid() });

import { z } from 'zod';
import { isStorable, storedText } from '../../kernel/http/stored-text.ts';
import { toCamelCase } from '../../lib/snake-case.ts';

/** Adapters as requests write them. */
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'must be 1 to 100 letters, digits, dots, dashes and underscores',
  );

export const adapterFormParts = { name, fileId: z.uuid() };

/** What is left out of a request is null in the adapter. */
const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

/** A control character could start another command or header. */
const line = (max: number) =>
  storedText(max).refine((text) => !/\p{Cc}/u.test(text), 'must not contain control characters');

const secretName = line(200)
  .min(1)
  .describe('The name of one of the tenant’s secrets (PUT /api/secrets/{name})');

const target = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('items'),
    processor: orNull(line(200)).describe('Null: the default processor for each kind of file'),
    options: z
      .record(z.string(), z.unknown())
      .refine(
        (value) => isStorable(value),
        'must not hold a NUL or half a character, nor more than 64 levels',
      )
      .default({}),
  }),
  z.strictObject({
    kind: z.literal('uploads'),
    platform: line(40).describe('A platform that uploads know; GET /api/uploads/platforms lists them'),
    workspace_id: z.uuid('must be the UUID of a workspace'),
  }),
]);

const shared = {
  target: target.describe('What a file becomes: an item job or an upload'),
  pattern: orNull(line(200).min(1)).describe(
    'Which file names to ingest: `*` matches anything, `?` one character',
  ),
  every_minutes: orNull(z.int().min(1).max(44_640)).describe('Null: only scanned on request'),
  after: z
    .enum(['leave', 'move'])
    .default('leave')
    .describe('`move`: to `done/` or `failed/` beside it, once the file is processed'),
  settle_seconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(10)
    .describe('How long a file must stay unchanged before it is read'),
};

const port = z
  .int()
  .refine((value) => value === 21 || (value >= 1_024 && value <= 65_535), 'must be 21, or 1024 to 65535');

const s3Place = z.strictObject({
  kind: z.literal('s3'),
  endpoint: orNull(
    line(2_000).refine(
      (text) => /^https?:\/\//i.test(text) && URL.canParse(text),
      'must be an http or https URL',
    ),
  ).describe('Null: Amazon’s endpoint for the region'),
  region: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be letters, digits and dashes')
    .default('us-east-1'),
  bucket: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/,
      'must be 3 to 255 letters, digits, dots, dashes and underscores',
    )
    .meta({ examples: ['reports'] }),
  prefix: line(900).default('').describe('The start of the keys, for example `in/`'),
  path_style: z.boolean().default(false),
  access_key_id_secret: secretName,
  secret_access_key_secret: secretName,
});

const ftpPlace = z.strictObject({
  kind: z.literal('ftp'),
  host: line(253).min(1).describe('A host name or an IP address'),
  port: port.default(21),
  path: line(1_000).min(1).default('/'),
  user: line(200).min(1).default('anonymous'),
  password_secret: secretName,
  tls: z.boolean().default(true).describe('Explicit FTPS; false sends the password unencrypted'),
  ca_certificate: orNull(storedText(20_000)).describe(
    'PEM, for a server whose certificate is not signed by a public authority',
  ),
});

export const adapterForm = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('folder'),
    path: line(1_000)
      .default('')
      .refine(isBelow, 'must not start with a slash or contain `..`')
      .describe('Inside the tenant’s folder in ADAPTER_FOLDER; empty: that folder itself'),
    ...shared,
  }),
  s3Place.extend(shared),
  ftpPlace.extend(shared),
]);

/** Places that others read files from, without an adapter: see `files/file-places.ts`. */
export const filePlaceForms = {
  s3: s3Place.extend({ pattern: shared.pattern }),
  ftp: ftpPlace.extend({ pattern: shared.pattern }),
};

export type AdapterForm = z.output<typeof adapterForm>;

/** An adapter's settings with the names that the program uses. */
export function settingsOf(form: AdapterForm) {
  const { target: given, pattern, every_minutes, after, settle_seconds, ...place } = form;
  return {
    place: toCamelCase(place),
    target: given.kind === 'items' ? given : toCamelCase(given),
    pattern,
    everyMinutes: every_minutes,
    after,
    settleSeconds: settle_seconds,
  };
}

function isBelow(path: string): boolean {
  return !path.startsWith('/') && !path.includes('\\') && !path.split('/').includes('..');
}

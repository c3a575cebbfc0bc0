import { z } from 'zod';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { labelRules } from '../labels/form.ts';
import { webAddress } from './web-address.ts';
import { findVideoId } from './youtube-page.ts';

const maxContent = 5_000_000;
const content = storedText(maxContent).min(1);
const title = storedText(500).min(1).optional();
const url = webAddress(2_000);
const video = url.refine(
  (text) => findVideoId(text) !== null,
  'must be the address of a single video, such as https://www.youtube.com/watch?v=… or https://youtu.be/…',
);
/** A control character could start another command or header. */
const line = (max: number) =>
  storedText(max).refine((text) => !/\p{Cc}/u.test(text), 'must not contain control characters');
const secretName = line(200).min(1).describe('Name of a stored secret');
const pathPrefixes = z.array(storedText(500).min(1)).max(100).optional();

export const sourceForm = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('markdown'), content, title }),
  z.strictObject({ type: z.literal('text'), content, title }),
  z.strictObject({ type: z.literal('html'), content, title }),
  z.strictObject({
    type: z.literal('folder'),
    path: storedText(1_000).min(1).describe('Relative to the tenant’s folder below KNOWLEDGE_FOLDER_ROOT'),
    rules: labelRules,
  }),
  z.strictObject({
    type: z.literal('website'),
    url,
    max_pages: z.int().min(1).max(10_000).default(500),
    max_depth: z.int().min(0).max(100).default(5),
    include: pathPrefixes.describe('Only pages whose path starts with one of these'),
    exclude: pathPrefixes.describe('Leaves out pages whose path starts with one of these'),
    sitemap: z.boolean().default(true).describe('Also read the pages listed in the sitemap'),
    rules: labelRules,
  }),
  z.strictObject({
    type: z.literal('s3'),
    endpoint: webAddress(2_000).nullish().describe('Absent: Amazon’s endpoint for the region'),
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
      .meta({ examples: ['handbook'] }),
    prefix: line(900).default('').describe('The start of the keys, for example `handbook/`'),
    path_style: z.boolean().default(false).describe('The bucket in the path, as MinIO wants it'),
    access_key_id_secret: secretName,
    secret_access_key_secret: secretName,
    rules: labelRules,
  }),
  z
    .strictObject({
      type: z.literal('zip'),
      url: url.optional().describe('Where the archive is downloaded'),
      path: storedText(1_000)
        .min(1)
        .optional()
        .describe('Or where it lies in the tenant’s folder below KNOWLEDGE_FOLDER_ROOT'),
      rules: labelRules,
    })
    .refine((form) => (form.url === undefined) !== (form.path === undefined), {
      path: ['url'],
      error: 'must be given, or path instead of it',
    }),
  z.strictObject({
    type: z.literal('git'),
    url: url.describe('What `git clone` takes, over http or https'),
    ref: line(250)
      .min(1)
      .nullish()
      .describe('A branch or tag; absent: the branch that the repository shows first'),
    path: line(1_000).default('').describe('Only files in this folder of the repository'),
    username: line(200).min(1).default('git').describe('Sent with the token; most servers ignore it'),
    token_secret: secretName.nullish(),
    rules: labelRules,
  }),
  z.strictObject({
    type: z.literal('youtube'),
    url: video,
    language: storedText(35).min(2).optional(),
  }),
]);

export type SourceForm = z.output<typeof sourceForm>;

export function sourceSettingsOf({ type: _type, ...settings }: SourceForm): Record<string, unknown> {
  return settings;
}

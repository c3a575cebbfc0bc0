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
    type: z.literal('youtube'),
    url: video,
    language: storedText(35).min(2).optional(),
  }),
]);

export type SourceForm = z.output<typeof sourceForm>;

export function sourceSettingsOf({ type: _type, ...settings }: SourceForm): Record<string, unknown> {
  return settings;
}

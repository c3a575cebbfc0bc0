import { z } from 'zod';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { figureErrors } from './errors.ts';
import { type FigureFilter, figureKinds, figureLevels } from './types.ts';

const idOrNone = z.union([z.uuid(), z.literal('none')]).optional();

/** What every call about figures can be narrowed down by. */
export const filterQuery = {
  kind: z
    .enum(figureKinds)
    .default('daily')
    .describe('`daily`, or `period` for reports without a day; the two are never added together'),
  workspace_id: z.uuid().optional(),
  client_id: idOrNone.describe('`none` for figures without a client'),
  platform: storedText(100).min(1).optional(),
  campaign_id: idOrNone,
  campaign: storedText(500)
    .min(1)
    .optional()
    .describe('Part of the campaign’s name, or its id at the platform'),
  ad_set_id: idOrNone,
  ad_id: idOrNone,
  currency: storedText(10).min(1).optional().describe('`none` for figures without a currency'),
  level: z.enum(figureLevels).optional().describe('Only figures that are stated per campaign, ad set or ad'),
  upload_id: z.uuid().optional().describe('Only figures that this upload created, confirmed or changed'),
  from: z.iso.date().optional().describe('First day'),
  to: z.iso.date().optional().describe('Last day'),
  range: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}\/\d{4}-\d{2}-\d{2}$/)
    .refine((text) => text.split('/').every((day) => z.iso.date().safeParse(day).success), 'must be two days')
    .optional()
    .describe('With `kind=period`: exactly this range, such as 2026-03-01/2026-03-31'),
};

const filterSchema = z.object(filterQuery);
export type FilterQuery = z.infer<typeof filterSchema>;

export function filterOf(tenantId: string, query: FilterQuery): FigureFilter {
  const { from, to } = query;
  if (from !== undefined && to !== undefined && from > to) {
    throw figureErrors.raise.range_reversed(`${from} is after ${to}`, {
      fields: [{ pointer: '/from', message: 'must not be after /to' }],
    });
  }
  return {
    tenantId,
    kind: query.kind,
    workspaceId: query.workspace_id,
    clientId: noneAsNull(query.client_id),
    platform: query.platform,
    campaignId: noneAsNull(query.campaign_id),
    campaign: query.campaign,
    adSetId: noneAsNull(query.ad_set_id),
    adId: noneAsNull(query.ad_id),
    currency: noneAsNull(query.currency),
    level: query.level,
    uploadId: query.upload_id,
    from,
    to,
    range: query.range,
  };
}

const noneAsNull = (value: string | undefined) => (value === 'none' ? null : value);

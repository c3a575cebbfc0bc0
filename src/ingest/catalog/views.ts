import { z } from 'zod';
import { timestamp } from '../../kernel/http/replies.ts';
import type { Tried } from './service.ts';
import { type Catalog, strategies } from './types.ts';

const column = z.string().nullable();

export const catalogReply = z
  .object({
    name: z.string(),
    version: z.int().describe('Starts at 1 and grows with each replacement'),
    productCount: z.int(),
    skippedCount: z.int().describe('Rows of the file that have neither a SKU nor a title'),
    columns: z.array(z.string()),
    fields: z
      .object({ sku: column, brand: column, title: column, gtin: column })
      .describe('Which column of the file is which field'),
    fileName: z.string().nullable(),
    updatedBy: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Catalog' });

export function renderCatalog(catalog: Catalog): z.output<typeof catalogReply> {
  const { tenantId: _tenant, versionId: _id, createdAt, updatedAt, ...shown } = catalog;
  return { ...shown, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

export const matchReply = z
  .object({
    version: z.int(),
    matches: z.array(
      z.object({
        status: z.enum(['DONE', 'NOT_FOUND']),
        strategy: z
          .enum(strategies)
          .describe(
            'The strategy that found the product, else the last one that saw candidates, else the last one tried',
          ),
        score: z.number().nullable(),
        product: z.looseObject({}).nullable(),
        reason: z.string().nullable(),
        candidates: z.array(z.object({ sku: column, brand: column, title: column, score: z.number() })),
      }),
    ),
  })
  .meta({ id: 'CatalogMatches' });

export function renderMatch({ match, strategy }: Tried): z.output<typeof matchReply>['matches'][number] {
  if (match.found) {
    const { score, product } = match;
    return { status: 'DONE', strategy, score, product, reason: null, candidates: [] };
  }
  const { reason, candidates } = match;
  return { status: 'NOT_FOUND', strategy, score: null, product: null, reason, candidates };
}

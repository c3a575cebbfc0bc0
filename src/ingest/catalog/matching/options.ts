import { z } from 'zod';
import { catalogNamePattern, strategies } from '../types.ts';
import { defaultSettings } from './matching.ts';

const column = z.string().min(1).max(200).optional();

/** Which column of a row holds which field; without a name, the usual names of columns are used. */
export const catalogFields = z.strictObject({ sku: column, brand: column, title: column });

export const strategiesOption = z
  .array(z.enum(strategies))
  .min(1)
  .max(strategies.length)
  .refine((given) => new Set(given).size === given.length, 'must not name a strategy twice')
  .default([...strategies])
  .describe('The order in which strategies are tried');

export const settingsShape = {
  threshold: z
    .number()
    .min(0.1)
    .max(1)
    .default(defaultSettings.threshold)
    .describe('How similar a title must be, from 0.1 to 1'),
  margin: z
    .number()
    .min(0)
    .max(0.5)
    .default(defaultSettings.margin)
    .describe('How far the best title must be ahead of the second-best, from 0 to 0.5'),
};

export const catalogOptions = z.strictObject({
  catalog: z.string().regex(catalogNamePattern, 'must be the name of a catalogue'),
  fields: catalogFields.default({}),
  strategies: strategiesOption,
  ...settingsShape,
});
export type CatalogOptions = z.output<typeof catalogOptions>;

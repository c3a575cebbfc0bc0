/** The name of each way to look up a row. */
export const strategyWords = {
  sku: 'Found by SKU',
  brand_title: 'Found by brand and title',
  fuzzy_title: 'Found by a similar title',
} as const;

import { defineProcessor } from 'sluice';

/** Gives each row of a price list its price with tax. */
const withTax = defineProcessor({
  name: 'with-tax',
  // It only computes, so Sluice may take and finish many rows in one transaction.
  isPure: true,
  // Called when a job is made: what it throws is the 422 that the sender of the file gets.
  validateOptions: ({ percent = 19 }) => {
    if (typeof percent === 'number' && percent >= 0 && percent <= 100) return { percent };
    throw new Error('percent must be a number from 0 to 100');
  },
  processItem: ({ input }, { percent }) => {
    if (input.sku === '') return { status: 'SKIPPED', reason: 'the row has no sku' };
    const cents = Math.round(Number(input.price) * 100);
    if (!Number.isSafeInteger(cents)) {
      // Permanent: trying the same row again would change nothing.
      return {
        status: 'ERROR',
        code: 'price_invalid',
        message: `no price: ${input.price}`,
        class: 'permanent',
      };
    }
    const gross = Math.round(cents * (1 + percent / 100)) / 100;
    return { status: 'DONE', result: { sku: input.sku, gross: gross.toFixed(2) } };
  },
});

export default { processors: [withTax] };

import { defineErrors } from '../../lib/errors.ts';

export const catalogErrors = defineErrors({
  catalog_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no catalogue with this name',
    next: 'Send its products with PUT /api/catalogs/{name}; GET /api/catalogs lists the names.',
  },
  catalog_unusable: {
    kind: 'invalid',
    status: 422,
    title: 'The file cannot be used as a catalogue',
    next: 'Give the file a column for the SKU or the title, or name its columns in the field `fields`.',
  },
  catalog_form_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The form is not valid',
    next: 'Send multipart/form-data with a part `file`; the optional field `fields` (JSON) comes before it.',
  },
  catalog_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The catalogue file is too large',
    next: 'Split the catalogue in two, or ask the operator to raise MAX_UPLOAD_BYTES.',
  },
  catalog_limit_reached: {
    kind: 'conflict',
    status: 409,
    title: 'The tenant has reached its limit of catalogues',
    next: 'Replace or delete one of them.',
  },
  fuzzy_title_unavailable: {
    kind: 'invalid',
    status: 422,
    title: 'This database cannot compare similar titles',
    next:
      'Use the strategies sku and brand_title, or create the extension pg_trgm (`create extension pg_trgm`) ' +
      'and run `sluice migrate`.',
  },
});

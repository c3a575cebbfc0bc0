import { defineErrors } from '../../lib/errors.ts';

export const catalogErrors = defineErrors({
  catalog_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no catalogue of this name',
    next: 'Send its products with PUT /api/catalogs/{name}; GET /api/catalogs lists the names.',
  },
  catalog_unusable: {
    kind: 'invalid',
    status: 422,
    title: 'The file cannot be a catalogue',
    next: 'Give the file a column for the SKU or the title, or name its columns in the field `fields`.',
  },
  catalog_form_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The form is not as it has to be',
    next: 'Send multipart/form-data with a part `file`, and the field `fields` (JSON) before it if it is needed.',
  },
  catalog_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The file of the catalogue is too large',
    next: 'Split the catalogue in two, or ask the operator to raise MAX_UPLOAD_BYTES.',
  },
  catalog_limit_reached: {
    kind: 'conflict',
    status: 409,
    title: 'The tenant has as many catalogues as it may have',
    next: 'Replace or delete one of them.',
  },
  fuzzy_title_unavailable: {
    kind: 'invalid',
    status: 422,
    title: 'Titles cannot be compared by likeness on this database',
    next:
      'Use the strategies sku and brand_title, or have the extension pg_trgm created (`create extension pg_trgm`) ' +
      'and run `sluice migrate`.',
  },
});

import { conflict, defineErrors, invalid, notFound } from '../../lib/errors.ts';

export const catalogErrors = defineErrors({
  catalog_not_found: notFound(
    'There is no catalogue with this name',
    'Send its products with PUT /api/catalogs/{name}; GET /api/catalogs lists the names.',
  ),
  catalog_unusable: invalid(
    'The file cannot be used as a catalogue',
    'Give the file a column for the SKU or the title, or name its columns in the field `fields`.',
  ),
  catalog_form_invalid: invalid(
    'The form is not valid',
    'Send multipart/form-data with a part `file`; the optional field `fields` (JSON) comes before it.',
    400,
  ),
  catalog_too_large: invalid(
    'The catalogue file is too large',
    'Split the catalogue in two, or ask the operator to raise MAX_UPLOAD_BYTES.',
    413,
  ),
  catalog_limit_reached: conflict(
    'The tenant has reached its limit of catalogues',
    'Replace or delete one of them.',
  ),
  fuzzy_title_unavailable: invalid(
    'This database cannot compare similar titles',
    'Use the strategies sku and brand_title, or create the extension pg_trgm (`create extension pg_trgm`) ' +
      'and run `sluice migrate`.',
  ),
});

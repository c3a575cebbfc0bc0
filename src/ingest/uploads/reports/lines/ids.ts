import type { DimensionEntity } from '../types.ts';

export interface IdFault {
  code: 'id_damaged_by_spreadsheet' | 'invalid_id';
  message: string;
}

/** Platform ids are digits and are kept as text, however long. The caller has handled null marks. */
export function readId(text: string): string | IdFault {
  const id = text.trim();
  if (isDigits(id)) return id;
  return exponent.test(id) ? damaged : invalid;
}

const maxIdDigits = 64;
const exponent = /^\d+(?:[.,]\d+)?e\+?\d{1,3}$/i;

function isDigits(text: string): boolean {
  if (text.length === 0 || text.length > maxIdDigits) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) return false;
  }
  return true;
}

const damaged: IdFault = {
  code: 'id_damaged_by_spreadsheet',
  message:
    'A spreadsheet turned this id into a rounded number, so the original id is lost. Upload the file ' +
    'as the platform exported it, without opening and saving it.',
};

const invalid: IdFault = {
  code: 'invalid_id',
  message: `An id consists of 1 to ${maxIdDigits} digits. Correct it, or leave the column out so that names are used.`,
};

/** Keys are indexed, and an index row holds 2,704 bytes, including tenant (200 characters), workspace and client. */
const maxKeyBytes = 1_800;

export interface NameFault {
  code: 'name_too_long';
  message: string;
}

/**
 * The key `name:["Campaign","Ad set"]`. A parent with an id appears in the path as `id:…`: two campaigns may have the
 * same name, and their ad sets must not be merged.
 */
export function keyOfNames(parent: DimensionEntity | null, name: string): string | NameFault {
  const key = pathOf(parent, JSON.stringify(name.trim()));
  return Buffer.byteLength(key) > maxKeyBytes ? nameTooLong : key;
}

function pathOf(parent: DimensionEntity | null, step: string): string {
  if (parent === null) return `name:[${step}]`;
  if (parent.isNameKey) return `${parent.externalId.slice(0, -1)},${step}]`;
  return `name:[${JSON.stringify(`id:${parent.externalId}`)},${step}]`;
}

export const nameTooLong: NameFault = {
  code: 'name_too_long',
  message:
    'The report has no ids, so names are used instead. The names of campaign, ad set and ad together may then have ' +
    'at most about 1,700 Latin letters or 590 Chinese or Japanese characters (1,800 bytes with quotes and commas). ' +
    'Shorten them, or add the id columns to the report.',
};

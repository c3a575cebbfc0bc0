import type { DimensionEntity } from '../types.ts';

/**
 * A key stands in indexes, whose rows hold 2,704 bytes: those of the tenant's id (200 characters), of workspace,
 * client and platform as well.
 */
const maxKeyBytes = 1_800;

export interface NameFault {
  code: 'name_too_long';
  message: string;
}

/**
 * `name:["Campaign","Ad set"]`. A parent with an id stands in the path as `id:…`: two campaigns may have one name, and
 * their ad sets must not become one.
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
    'The report has no ids, so names stand for them, and then the names of campaign, ad set and ad together may have ' +
    'at most about 1,700 Latin letters or 590 Chinese or Japanese characters (1,800 bytes with quotes and commas). ' +
    'Shorten them, or add the id columns to the report.',
};

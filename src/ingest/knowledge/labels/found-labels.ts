import { storable } from '../../../lib/well-formed.ts';
import { accessField, type Labels, labelLimits, type Metadata, type MetadataValue } from './types.ts';

/**
 * Labels from what a document says of itself. Whatever cannot be a field is left out. An access list that makes no
 * sense lets nobody in: the document must not be shown to everybody because of a typing error.
 */
export function foundLabels(found: Readonly<Record<string, unknown>>): Labels {
  const metadata: Metadata = {};
  for (const [name, value] of flat(found)) {
    const field = storable(name.trim());
    if (field === '' || field === accessField || field.startsWith('$')) continue;
    if (field.length > labelLimits.nameUnits || Object.keys(metadata).length >= labelLimits.fields) continue;
    const stored = storedValue(value);
    if (stored !== null) metadata[field] = stored;
  }
  return { metadata, allow: accessField in found ? groupsOf(found[accessField]) : null };
}

/** The fields of a field are named `field.name`, one level deep. */
function* flat(found: Readonly<Record<string, unknown>>): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(found)) {
    if (name === accessField || value === null || typeof value !== 'object' || Array.isArray(value)) {
      yield [name, value];
    } else {
      for (const [part, inner] of Object.entries(value)) yield [`${name}.${part}`, inner];
    }
  }
}

function storedValue(value: unknown): MetadataValue | null {
  if (!Array.isArray(value)) return plainOf(value);
  const values = value.slice(0, labelLimits.values).flatMap((one) => plainOf(one) ?? []);
  return values.length > 0 ? values : null;
}

function plainOf(value: unknown): string | number | boolean | null {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'string') return null;
  const text = storable(value.slice(0, labelLimits.textUnits)).trim();
  return text === '' ? null : text;
}

function groupsOf(value: unknown): string[] {
  const groups = (Array.isArray(value) ? value : [value]).filter((group) => typeof group === 'string');
  return groups
    .map((group) => storable(group.trim()))
    .filter((group) => group !== '' && group.length <= labelLimits.groupUnits)
    .slice(0, labelLimits.groups);
}

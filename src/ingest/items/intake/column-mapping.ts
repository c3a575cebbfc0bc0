import { z } from 'zod';
import { jsonMembers } from '../../../lib/rows/json-members.ts';
import { quoted } from '../../../lib/rows/notes.ts';
import type { ParsedRow } from '../../../lib/rows/types.ts';
import { itemErrors } from '../errors.ts';

const name = z
  .string()
  .max(200)
  .refine((text) => text.trim() !== '' && !/[\0\p{Surrogate}]/u.test(text), 'must be a name without NUL');

/** File column → column of the job; null leaves it out. Columns that it does not name stay as they are. */
export const columnMapping = z
  .record(z.string().max(200), name.nullable())
  .refine((mapping) => Object.keys(mapping).length <= 1_000, 'must have at most 1,000 columns');

/** Renames and leaves out columns while a file is read. */
export class ColumnMapping {
  readonly #targets: Map<string, string | null>;
  readonly #unseen: Set<string>;

  constructor(mapping: Record<string, string | null>) {
    this.#targets = new Map(Object.entries(mapping));
    this.#unseen = new Set(this.#targets.keys());
  }

  /** The columns of the job for those of the file. Refuses two with one name. */
  columns(names: readonly string[]): string[] {
    const mapped: string[] = [];
    const sources = new Map<string, string>();
    for (const from of names) {
      this.#unseen.delete(from);
      const to = this.#targetOf(from);
      if (to === null) continue;
      const earlier = sources.get(to);
      if (earlier !== undefined) throw twoSources(to, [earlier, from]);
      sources.set(to, from);
      mapped.push(to);
    }
    return mapped;
  }

  /** Before a row is stored: what the header shows to be wrong. */
  checkHeader(names: readonly string[]): void {
    if (this.columns(names).length > 0) return;
    throw itemErrors.raise.column_mapping_invalid('The mapping leaves out every column of the file');
  }

  row(row: ParsedRow): ParsedRow {
    const members: string[] = [];
    const names: string[] = [];
    for (const { key, valueText } of jsonMembers(row.inputJson)) {
      names.push(key);
      const to = this.#targetOf(key);
      if (to !== null) members.push(`${JSON.stringify(to)}:${valueText}`);
    }
    this.columns(names);
    const inputJson = `{${members.join(',')}}`;
    return { ...row, inputJson, sizeBytes: Buffer.byteLength(inputJson) };
  }

  /** Once the file was read: a column that is in the mapping and nowhere in the file is a mistake. */
  assertAllSeen(columns: Iterable<string>): void {
    const [missing] = this.#unseen;
    if (missing === undefined) return;
    const known = [...columns].slice(0, 20).map(quoted).join(', ');
    throw itemErrors.raise.column_mapping_invalid(
      `The mapping names the column ${quoted(missing)}; the file has ${known}`,
      {
        details: { column: missing },
        fields: [{ pointer: '/mapping', message: `names ${quoted(missing)}, which the file does not have` }],
      },
    );
  }

  #targetOf(from: string): string | null {
    const to = this.#targets.get(from);
    return to === undefined ? from : to;
  }
}

function twoSources(to: string, sources: [string, string]): Error {
  return itemErrors.raise.column_mapping_invalid(
    `The columns ${quoted(sources[0])} and ${quoted(sources[1])} would both become ${quoted(to)}`,
    {
      details: { column: to, sources },
      fields: [{ pointer: '/mapping', message: `gives ${quoted(to)} twice` }],
    },
  );
}

import { type ColumnKinds, kindsOf } from './dimensions/column-kinds.ts';
import { periodUnknown } from './file-range.ts';
import { headerAliases } from './headers/aliases.ts';
import { type PlatformNames, wrongPlatform } from './headers/fingerprint.ts';
import { chosenField, mapHeaders } from './headers/mapping.ts';
import { findHeader, findMissing } from './headers/search.ts';
import { hourKind } from './lines/dimensions.ts';
import { compileLines } from './lines/lines.ts';
import { builtInPlatforms, findBuiltIn } from './platforms/built-in.ts';
import {
  type LineContext,
  type MapOptions,
  type MappedColumns,
  type PlatformDefinition,
  platforms,
  type ReportLayout,
} from './types.ts';

type Rows = readonly (readonly string[])[];

/** How the reports of a platform are read. Create one per file: it caches suggestions. */
export function profileOf(wanted: string | PlatformDefinition) {
  const definition = typeof wanted === 'string' ? findBuiltIn(wanted) : wanted;
  if (definition === null) throw new Error(`No platform ${JSON.stringify(wanted)} comes with Sluice`);
  const { platform } = definition;
  const aliases = headerAliases(definition);
  let others: PlatformNames[] | null = null;
  const wrong = (layout: Pick<ReportLayout, 'format' | 'headers'>, mapping: MapOptions['mapping']) => {
    // A tenant's own platform may have any columns; whoever mapped a column of this file has said what it is.
    if (findBuiltIn(platform) === null) return null;
    if (layout.headers.some((header) => chosenField(mapping, header))) return null;
    others ??= platforms
      .filter((other) => other !== platform)
      .map((other) => builtInPlatforms[other])
      .map((other) => ({ definition: other, aliases: headerAliases(other) }));
    return wrongPlatform({ definition, aliases }, others, layout);
  };
  return {
    definition,
    /** Which of the first lines is the header, or why the file is not a report. */
    findHeader: (lines: Rows, { mapping }: Pick<MapOptions, 'mapping'> = {}) => {
      for (const headers of lines) {
        const fails =
          headers.length < 3 ? null : wrong({ format: 'delimited', headers: [...headers] }, mapping);
        if (fails !== null) return { fails };
      }
      return findHeader({ definition, aliases, lines, mapping });
    },
    mapHeaders: (headers: readonly string[], options: MapOptions = {}) =>
      mapHeaders({ platform, aliases, headers, ...options }),
    /** The error of a file that lacks required columns, with values of some rows for people who map them; or null. */
    findMissing: (columns: MappedColumns, rows: Rows = []) =>
      findMissing(columns, { definition, aliases, rows }),
    /** The refusal of a file of another platform, or null. */
    wrongPlatform: wrong,
    /** What the unread columns are; `known` are those that were decided before. */
    kindsOf: (columns: MappedColumns, rows: Rows, known: ColumnKinds): ColumnKinds => {
      const hour = hourKind(columns, rows);
      return {
        ...kindsOf(columns, { aliases, rows, known, dimensions: definition.dimensions }),
        ...(hour === null ? {} : { [hour]: 'dimension' }),
      };
    },
    /** The failure of a report that names neither days nor a range. */
    periodUnknown: (headers: readonly string[], rows: Rows) => periodUnknown(definition, { headers, rows }),
    /** Cheap, so it can be repeated when the headers of a JSON file have grown. */
    compileLines: (columns: MappedColumns, context: LineContext) =>
      compileLines({ definition, columns, context }),
  };
}

export type PlatformProfile = ReturnType<typeof profileOf>;

import { headerAliases } from './headers/aliases.ts';
import { mapHeaders } from './headers/mapping.ts';
import { findHeader, findMissing } from './headers/search.ts';
import { compileLines } from './lines/lines.ts';
import { google } from './platforms/google.ts';
import { meta } from './platforms/meta.ts';
import { tiktok } from './platforms/tiktok.ts';
import type { LineContext, MapOptions, MappedColumns, Platform, PlatformDefinition } from './types.ts';

const definitions: Record<Platform, PlatformDefinition> = { meta, google, tiktok };

type Rows = readonly (readonly string[])[];

/** How the reports of a platform are read. Create one per file: it caches suggestions. */
export function profileOf(platform: Platform) {
  const definition = definitions[platform];
  const aliases = headerAliases(definition);
  return {
    platform,
    /** Which of the first lines is the header, or why the file is not a report. */
    findHeader: (lines: Rows, { mapping }: Pick<MapOptions, 'mapping'> = {}) =>
      findHeader({ definition, aliases, lines, mapping }),
    mapHeaders: (headers: readonly string[], options: MapOptions = {}) =>
      mapHeaders({ platform, aliases, headers, ...options }),
    /** The error of a file that lacks required columns, with values of some rows for people who map them; or null. */
    findMissing: (columns: MappedColumns, rows: Rows = []) =>
      findMissing(columns, { definition, aliases, rows }),
    /** Cheap, so it can be repeated when the headers of a JSON file have grown. */
    compileLines: (columns: MappedColumns, context: LineContext) =>
      compileLines({ definition, columns, context }),
  };
}

export type PlatformProfile = ReturnType<typeof profileOf>;

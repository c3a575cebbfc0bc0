import { headerAliases } from './headers/aliases.ts';
import { mapHeaders } from './headers/mapping.ts';
import { findHeader, findMissing } from './headers/search.ts';
import { compileLines } from './lines/lines.ts';
import { google } from './platforms/google.ts';
import { meta } from './platforms/meta.ts';
import { tiktok } from './platforms/tiktok.ts';
import type { Platform, PlatformDefinition, PlatformProfile } from './types.ts';

const definitions: Record<Platform, PlatformDefinition> = { meta, google, tiktok };

/** How the reports of a platform are read. Create one per file: it caches suggestions. */
export function profileOf(platform: Platform): PlatformProfile {
  const definition = definitions[platform];
  const aliases = headerAliases(definition);
  return {
    platform,
    findHeader: (lines, { mapping } = {}) => findHeader({ definition, aliases, lines, mapping }),
    mapHeaders: (headers, options = {}) => mapHeaders({ platform, aliases, headers, ...options }),
    findMissing: (columns, rows = []) => findMissing(columns, { definition, aliases, rows }),
    compileLines: (columns, context) => compileLines({ definition, columns, context }),
  };
}

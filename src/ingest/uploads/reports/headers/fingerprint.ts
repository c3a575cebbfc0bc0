import type { SluiceError } from '../../../../lib/errors.ts';
import { profileErrors } from '../errors.ts';
import { type Platform, type PlatformDefinition, type ReportLayout, reportFields } from '../types.ts';
import type { HeaderAliases } from './aliases.ts';

export interface PlatformNames {
  definition: PlatformDefinition;
  aliases: HeaderAliases;
}

/**
 * So many columns that only the other platform has are no coincidence. Two that it only names better count as one,
 * because people write tables of their own.
 */
const tellingColumns = 2;

/**
 * The refusal of a file of another platform than it is said to be, or null. Columns that one platform has and the other
 * has not tell them apart: a report with several of the other platform's own columns, and fewer of this one's, is the
 * other's.
 */
export function wrongPlatform(
  said: PlatformNames,
  others: readonly PlatformNames[],
  layout: Pick<ReportLayout, 'format' | 'headers'> & { shape?: string },
): SluiceError | null {
  const looksLike =
    layout.format === 'json'
      ? platformOfShape(said, others, layout.shape)
      : platformOfHeaders(said, others, layout);
  if (looksLike === null) return null;
  const { definition } = looksLike;
  return profileErrors.raise.wrong_platform(
    `The file was sent as ${said.definition.platform}, but its columns are those of a ${definition.title} report. ` +
      `Upload it with the platform ${definition.platform}.`,
    { details: { platform: said.definition.platform, looks_like: definition.platform } },
  );
}

const shapes: readonly string[] = ['meta', 'google', 'tiktok'];

function platformOfShape(
  { definition }: PlatformNames,
  others: readonly PlatformNames[],
  shape: string | undefined,
): PlatformNames | null {
  // Only those with a shape of their own are told apart by it: others use what is common.
  if (shape === definition.platform || !shapes.includes(definition.platform)) return null;
  return others.find((other) => other.definition.platform === (shape as Platform)) ?? null;
}

function platformOfHeaders(
  said: PlatformNames,
  others: readonly PlatformNames[],
  { headers }: { headers: readonly string[] },
): PlatformNames | null {
  const named = [...new Set(headers.map((header) => header.trim()))].filter(
    (header) => header !== '' && !canonical.has(header),
  );
  let found: { other: PlatformNames; lead: number } | null = null;
  for (const other of others) {
    const [theirs, ours] = [ownColumns(other, said, named), ownColumns(said, other, named)];
    if (theirs === 0 || ours > 0) continue;
    const better = toldApart.includes(other.definition.platform)
      ? betterNames(other, said, named) - betterNames(said, other, named)
      : 0;
    const lead = 2 * theirs + Math.max(0, better);
    if (lead >= 2 * tellingColumns && lead > (found?.lead ?? 0)) found = { other, lead };
  }
  return found?.other ?? null;
}

/** Our own names of fields say nothing about the platform. */
const canonical = new Set<string>(reportFields);
/** Their tables know the names of so many exports that the best of them counts. */
const toldApart: readonly Platform[] = ['meta', 'google', 'tiktok'];

/** How many of the headers one platform's exports have and the other's have not. */
function ownColumns({ aliases, definition }: PlatformNames, other: PlatformNames, headers: string[]): number {
  const marks = new Set(definition.marks.map((mark) => mark.toLowerCase()));
  return headers.filter((header) => {
    if (other.aliases.isExported(header)) return false;
    return aliases.isExported(header) || marks.has(header.normalize('NFKC').toLowerCase());
  }).length;
}

/** How many headers are the very name that one platform uses, and only another name of the field for the other. */
function betterNames({ aliases }: PlatformNames, other: PlatformNames, headers: string[]): number {
  return headers.filter(
    (header) =>
      aliases.exportRank(header) === 0 &&
      other.aliases.isExported(header) &&
      other.aliases.exportRank(header) > 0,
  ).length;
}

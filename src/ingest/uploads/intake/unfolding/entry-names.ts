import { wellFormed } from '../../../../lib/well-formed.ts';

const junkNames = new Set(['thumbs.db', 'desktop.ini', 'ehthumbs.db']);

/** Folders, and files that systems add by themselves: macOS' `__MACOSX/` and `.DS_Store`, Windows' `Thumbs.db`. */
export function isJunk(entryName: string): boolean {
  if (entryName.endsWith('/')) return true;
  const steps = entryName.split('/');
  if (steps.some((step) => step === '__MACOSX' || step.startsWith('.'))) return true;
  return junkNames.has(steps.at(-1)?.toLowerCase() ?? '');
}

const longestName = 500;

/** The file name of a report in an archive, without its folders and what no database can store. */
export function reportName(entryName: string): string {
  const name = wellFormed(entryName.split('/').at(-1) ?? '').replaceAll('\0', '');
  return [...name].slice(0, longestName).join('').slice(0, longestName);
}

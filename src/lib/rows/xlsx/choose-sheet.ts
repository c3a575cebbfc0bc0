import { readerErrors } from '../errors.ts';
import type { Sheet } from './workbook.ts';

export interface ChosenSheet {
  name: string;
  part: string;
}

/**
 * The requested sheet, by name or else by number (from 1, including hidden ones). Without a request, the first visible
 * one.
 */
export function chooseSheet(sheets: readonly Sheet[], wanted: string | undefined): ChosenSheet {
  const withCells = sheets.filter(({ part }) => part !== null);
  const asked = wanted?.trim() ?? '';
  const found =
    asked === ''
      ? (withCells.find(({ isHidden }) => !isHidden) ?? null)
      : (findByName(sheets, asked) ?? findByNumber(sheets, asked));
  if (found !== null && found.part !== null) return { name: found.name, part: found.part };
  throw readerErrors.raise.sheet_not_found(`${whatIsMissing(asked, found)} ${namesOf(withCells)}`, {
    details: { sheets: withCells.slice(0, shownSheets).map(({ name }) => shown(name)) },
  });
}

function findByName(sheets: readonly Sheet[], asked: string): Sheet | null {
  const lower = asked.toLowerCase();
  return sheets.find(({ name }) => name.trim().toLowerCase() === lower) ?? null;
}

function findByNumber(sheets: readonly Sheet[], asked: string): Sheet | null {
  return /^\d{1,5}$/.test(asked) ? (sheets[Number(asked) - 1] ?? null) : null;
}

function whatIsMissing(asked: string, found: Sheet | null): string {
  if (asked === '') return 'The workbook has no visible sheet with cells.';
  if (found !== null) return `The sheet ${JSON.stringify(shown(asked))} of the workbook has no cells.`;
  return `The workbook has no sheet ${JSON.stringify(shown(asked))}.`;
}

const shownSheets = 10;

function namesOf(sheets: readonly Sheet[]): string {
  if (sheets.length === 0) return 'It has no other sheets.';
  const names = sheets.slice(0, shownSheets).map(({ name }) => JSON.stringify(shown(name)));
  const rest = sheets.length > shownSheets ? ` and ${sheets.length - shownSheets} more` : '';
  return `Its sheets are ${names.join(', ')}${rest}.`;
}

function shown(name: string): string {
  const characters = [...name.slice(0, 80)];
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('');
}

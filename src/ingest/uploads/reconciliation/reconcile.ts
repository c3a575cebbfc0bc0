import { type AdditiveField, type AdditiveFigures, additiveFields } from '../reports/types.ts';
import { negated, sumTexts } from '../reports/values/exact-sum.ts';
import type { FigureReconciliation, Reconciliation, WarningCount } from '../types.ts';
import type { FileSums, TotalRow } from './figure-sums.ts';

export interface Accounts {
  /** Counted while the file was read. */
  sums: FileSums;
  /** What identical lines would have added. */
  duplicates: Partial<AdditiveFigures>;
  /** Lines that validation accepted and that were refused later. */
  refused: Partial<AdditiveFigures>;
  /** What the database returned; null before promotion. */
  promoted: Partial<AdditiveFigures> | null;
  superseded?: Partial<AdditiveFigures> | undefined;
}

/** Compares what the file says with what was stored and refused of it, figure by figure. */
export function reconcile(accounts: Accounts): Reconciliation {
  const total = totalRowOf(accounts);
  const stated = additiveFields.filter((field) => accounts.sums.lines[field] !== null);
  const figures = Object.fromEntries(stated.map((field) => [field, reconcileFigure(field, accounts, total)]));
  return { agrees: Object.values(figures).every(({ agrees }) => agrees), figures };
}

function reconcileFigure(
  field: AdditiveField,
  { sums, duplicates, refused, promoted, superseded }: Accounts,
  total: TotalRow | null,
): FigureReconciliation {
  const all = {
    lines: less(sums.lines[field], duplicates[field] ?? null),
    duplicates: duplicates[field] ?? null,
    total_row: total?.figures[field] ?? null,
    promoted: promoted === null ? null : (promoted[field] ?? '0'),
    refused: sumTexts(sums.invalid[field], refused[field] ?? null),
    superseded: superseded?.[field] ?? null,
    unreadable: sums.unreadable[field] ?? 0,
  };
  const differences = [storedDifference(all), totalDifference(all, total)].filter((one) => one !== null);
  return {
    ...all,
    agrees: differences.length === 0,
    difference: differences.length === 0 ? null : differences.join(' '),
  };
}

type Sums = Omit<FigureReconciliation, 'agrees' | 'difference'>;

function storedDifference({ lines, promoted, refused, superseded }: Sums): string | null {
  if (promoted === null) return null;
  const rest = less(lines, sumTexts(promoted, refused)) ?? '0';
  if (rest === '0') return null;
  if (rest === superseded)
    return `${rest} was not stored, because a newer upload had stated these figures already.`;
  return `The lines add up to ${lines}, but ${promoted} was promoted and ${refused ?? '0'} refused.`;
}

function totalDifference({ lines, duplicates, total_row }: Sums, total: TotalRow | null): string | null {
  if (total === null || total_row === null || isSame(total_row, lines)) return null;
  // The platform may have counted lines that it wrote twice.
  if (isSame(total_row, sumTexts(lines, duplicates))) return null;
  return `The total row on line ${total.line} says ${total_row}, but the lines add up to ${lines}.`;
}

const less = (from: string | null, what: string | null) => sumTexts(from, negated(what));
const isSame = (a: string | null, b: string | null) => (less(a, b) ?? '0') === '0';

/** Files have several totals (of the campaigns, of the account, of a network): the one that fits the lines best. */
function totalRowOf({ sums, duplicates }: Accounts): TotalRow | null {
  const fits = ({ figures }: TotalRow) =>
    additiveFields.filter((field) => {
      if (figures[field] === null || sums.lines[field] === null) return false;
      return (
        isSame(figures[field], sums.lines[field]) ||
        isSame(figures[field], less(sums.lines[field], duplicates[field] ?? null))
      );
    }).length;
  const rated = sums.totals.map((row) => ({ row, fit: fits(row) }));
  const best = Math.max(-1, ...rated.map(({ fit }) => fit));
  return rated.find(({ fit }) => fit === best)?.row ?? null;
}

/** A file whose own total row contradicts its lines was probably cut, filtered or edited. */
export function totalWarnings({ figures }: Reconciliation): WarningCount[] {
  const wrong = Object.entries(figures).filter(
    ([, { total_row, lines, duplicates }]) =>
      total_row !== null && !isSame(total_row, lines) && !isSame(total_row, sumTexts(lines, duplicates)),
  );
  if (wrong.length === 0) return [];
  const each = wrong.map(
    ([field, { total_row, lines }]) => `${field.replaceAll('_', ' ')} ${total_row} (lines: ${lines})`,
  );
  const message =
    `The file’s own total row says something else than its lines add up to: ${each.join(', ')}. Check that the file ` +
    'is complete.';
  return [{ code: 'total_row_differs', message, count: wrong.length }];
}

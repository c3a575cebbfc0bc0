import { type AdditiveFigures, additiveFields } from '../reports/types.ts';
import { negated, sumTexts } from '../reports/values/exact-sum.ts';

type Figures = Partial<AdditiveFigures> | null | undefined;

export function addFigures(a: Figures, b: Figures): AdditiveFigures {
  const sums = additiveFields.map((field) => [field, sumTexts(a?.[field] ?? null, b?.[field] ?? null)]);
  return Object.fromEntries(sums) as AdditiveFigures;
}

export function subtractFigures(a: Figures, b: Figures): AdditiveFigures {
  const less = additiveFields.map((field) => [field, negated(b?.[field] ?? null)]);
  return addFigures(a, Object.fromEntries(less) as AdditiveFigures);
}

import type { SluiceError } from '../../../../lib/errors.ts';
import { shortened } from '../shortened.ts';
import type { FieldProblem } from '../types.ts';

/** How much of a row is needed to show it; what is shown must not depend on how much of the file was there. */
export const shownLength = 400;

/** What would be wrong with a file, as what is wrong with one of its rows: code and sentence stay the same. */
export function rowProblem(
  error: SluiceError,
  { field = 'row', value }: { field?: string; value: string },
): FieldProblem {
  const code = error.code.replace(/^report_/, '');
  return { field, code, message: error.message, value: shortened(value.slice(0, shownLength)) };
}

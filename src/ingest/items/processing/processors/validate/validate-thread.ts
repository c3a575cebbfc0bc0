import { LinearPatterns } from '../../../../../lib/patterns/linear-patterns.ts';
import { answerQuestions } from '../../../../../lib/threads/answer-questions.ts';
import { type CheckedRow, RowCheck } from './check-rows.ts';
import type { Rule } from './rules.ts';

// Runs in the threads that check rows; `row-checks.ts` starts them.

export type CheckQuestion =
  | { type: 'check'; rules: readonly Rule[]; rows: readonly string[]; budgetMs: number }
  | { type: 'compile'; patterns: readonly string[] };

export type CheckAnswer =
  /** Of the first rows: the others did not fit in the time. */
  | { type: 'check'; rows: CheckedRow[] }
  /** In the order of the patterns; null for a pattern that can be used. */
  | { type: 'compile'; problems: (string | null)[] };

const patterns = new LinearPatterns();
answerQuestions<CheckQuestion, CheckAnswer>((question) =>
  question.type === 'check'
    ? { type: 'check', rows: checkRows(question) }
    : { type: 'compile', problems: question.patterns.map(problemOf) },
);

/** Always the first row, and then as many as fit in the time. */
function checkRows({ rules, rows, budgetMs }: Extract<CheckQuestion, { type: 'check' }>): CheckedRow[] {
  const until = performance.now() + budgetMs;
  const check = new RowCheck(rules, patterns);
  const checked: CheckedRow[] = [];
  for (const row of rows) {
    if (checked.length > 0 && performance.now() > until) break;
    checked.push(check.check(row));
  }
  return checked;
}

function problemOf(pattern: string): string | null {
  const compiled = patterns.get(pattern);
  patterns.limitMemory();
  return 'problem' in compiled ? compiled.problem : null;
}

import { messageOf } from '../../../../../lib/errors.ts';
import { ThreadPool } from '../../../../../lib/threads/thread-pool.ts';
import { processorErrors } from '../errors.ts';
import type { CheckedRow } from './check-rows.ts';
import type { Rule } from './rules.ts';
import type { CheckAnswer, CheckQuestion } from './validate-thread.ts';

const threads = 2;
const heapMb = 512;
/** After this time the other tenants have their turn. */
const budgetMs = 250;
/** Texts are copied for the thread: as many at once as block nobody. */
const mostUnits = 2 * 1024 * 1024;

interface Caller {
  tenantId: string;
}

/** Checks rows and patterns in threads, so that no rule of a tenant keeps requests and heartbeats waiting. */
export class RowChecks {
  readonly #pool = new ThreadPool<CheckQuestion, CheckAnswer>({
    file: 'validate-thread',
    threads,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });

  /** Returns what the rules say of the first rows, of at least one; the caller asks again for the others. */
  async check(
    { rules, rows }: { rules: readonly Rule[]; rows: readonly string[] },
    caller: Caller,
  ): Promise<CheckedRow[]> {
    const answer = await this.#ask({ type: 'check', rules, rows: firstOf(rows), budgetMs }, caller);
    return answer.type === 'check' ? answer.rows : [];
  }

  /** What keeps each pattern from being used, in order; null: nothing. */
  async findProblems(patterns: readonly string[], caller: Caller): Promise<(string | null)[]> {
    const answer = await this.#ask({ type: 'compile', patterns }, caller);
    return answer.type === 'compile' ? answer.problems : [];
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #ask(question: CheckQuestion, caller: Caller): Promise<CheckAnswer> {
    try {
      return await this.#pool.ask(question, caller);
    } catch (error) {
      throw processorErrors.raise.row_check_failed(`The rows could not be checked: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}

/** The first row, and those after it that fit. */
function firstOf(rows: readonly string[]): readonly string[] {
  let units = 0;
  const end = rows.findIndex((row, at) => {
    units += row.length;
    return at > 0 && units > mostUnits;
  });
  return end === -1 ? rows : rows.slice(0, end);
}

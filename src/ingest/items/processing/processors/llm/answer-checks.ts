import { ThreadPool } from '../../../../../lib/threads/thread-pool.ts';
import type { AnswerQuestion, CheckedAnswer } from './answer-thread.ts';

/** Usual answers take a millisecond. A schema whose references unfold a thousandfold takes for ever. */
const answerMs = 10_000;
const heapMb = 256;

/** Checks answers of language models against schemas in a thread, so that neither keeps requests waiting. */
export class AnswerChecks {
  readonly #pool = new ThreadPool<AnswerQuestion, CheckedAnswer>({
    file: 'answer-thread',
    threads: 1,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
    answerMs,
  });

  async check(question: AnswerQuestion, caller: { tenantId: string }): Promise<CheckedAnswer> {
    try {
      return await this.#pool.ask(question, caller);
    } catch {
      return { problem: 'checking it took too long or too much memory; use a simpler schema' };
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

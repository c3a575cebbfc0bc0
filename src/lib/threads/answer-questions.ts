import { parentPort } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { giveWay } from './give-way.ts';
import type { PoolAnswer, PoolRequest } from './thread-pool.ts';

/** The other end of a `ThreadPool`: runs in its threads. Does nothing in the main thread. */
export function answerQuestions<Question, Answer>(answerTo: (question: Question) => Answer): void {
  if (parentPort !== null) giveWay();
  parentPort?.on('message', ({ id, question }: PoolRequest<Question>) => {
    parentPort?.postMessage({ id, ...outcomeOf(() => answerTo(question)) } satisfies PoolAnswer<Answer>);
  });
}

function outcomeOf<Answer>(work: () => Answer): { answer: Answer } | { failure: string } {
  try {
    return { answer: work() };
  } catch (error) {
    return { failure: messageOf(error) };
  }
}

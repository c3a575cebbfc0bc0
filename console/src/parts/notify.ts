import { notifications } from '@mantine/notifications';
import { ApiProblem } from '../api/client.ts';

/** What did happen, in a sentence with its number: "Requeued 37 dead letters." */
export function notifyDone(sentence: string): void {
  notifications.show({ message: sentence, color: 'teal', autoClose: 6_000 });
}

/** What did not happen and why; stays until it is closed when it is not only passing. */
export function notifyProblem(error: unknown): void {
  const title = error instanceof ApiProblem ? error.title : 'That did not work';
  notifications.show({ title, message: sentenceOf(error), color: 'red', autoClose: 12_000 });
}

/** Any error as a sentence for a person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiProblem) {
    const pointed = error.errors.map(({ pointer, message }) => `${pointer || 'request'}: ${message}`);
    return pointed.length === 0 ? error.detail : `${error.detail} (${pointed.join('; ')})`;
  }
  return error instanceof Error ? error.message : String(error);
}

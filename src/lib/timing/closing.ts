import { messageOf } from '../errors.ts';

/** Something that was started and has to be stopped. */
export interface Part {
  stop(): Promise<void>;
}

/** What was opened is closed in reverse order, each thing once, and one failure does not keep the rest open. */
export class ClosingOrder {
  readonly #parts: { name: string; part: Part }[] = [];
  readonly #onFailure: (sentence: string, error: unknown) => void;

  constructor(onFailure: (sentence: string, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  add(name: string, part: Part): void {
    this.#parts.push({ name, part });
  }

  async closeAll(): Promise<void> {
    for (let next = this.#parts.pop(); next; next = this.#parts.pop()) {
      try {
        await next.part.stop();
      } catch (error) {
        this.#onFailure(`${next.name} did not stop cleanly: ${messageOf(error)}`, error);
      }
    }
  }
}

/** Waits for work up to a limit. Returns whether it was done in time. */
export async function finishedWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

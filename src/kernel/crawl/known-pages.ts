import type { KnownPage } from './types.ts';

export type FindKnown = (urls: readonly string[]) => Promise<Map<string, KnownPage>>;

/** Asks for what is known about pages in groups, shortly before they are visited. */
export class KnownPages {
  readonly #findKnown: FindKnown;
  readonly #answers = new Map<string, Promise<KnownPage | null>>();

  constructor(findKnown: FindKnown) {
    this.#findKnown = findKnown;
  }

  /** `ahead` are those that will be asked for next. */
  find(url: string, ahead: readonly string[] = []): Promise<KnownPage | null> {
    if (!this.#answers.has(url)) this.#ask([url, ...ahead]);
    const answer = this.#answers.get(url) ?? Promise.resolve(null);
    this.#answers.delete(url);
    return answer;
  }

  #ask(urls: string[]): void {
    const missing = urls.filter((url) => !this.#answers.has(url));
    const asking = this.#findKnown(missing);
    for (const url of missing) {
      const answer = asking.then((known) => known.get(url) ?? null);
      // Whoever visits the page hears of a failure; one that is never visited has nobody to tell.
      answer.catch(() => {});
      this.#answers.set(url, answer);
    }
  }
}

/** A ring is remembered until somebody waits for it. */
export class Bell {
  #hasRung = false;
  #answer: (() => void) | null = null;

  ring(): void {
    this.#hasRung = true;
    this.#answer?.();
  }

  /** Returns whether it rang within that time. */
  async wait(limitMs: number): Promise<boolean> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        this.#answer = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#answer = null;
    }
    const hasRung = this.#hasRung;
    this.#hasRung = false;
    return hasRung;
  }
}

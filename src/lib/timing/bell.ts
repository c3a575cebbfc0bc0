/** Wakes a waiting loop. A ring is remembered until the next wait. */
export class Bell {
  #hasRung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#hasRung = true;
    this.#wake?.();
  }

  /** Returns whether it rang within that time. */
  async wait(limitMs: number): Promise<boolean> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
    const hasRung = this.#hasRung;
    this.#hasRung = false;
    return hasRung;
  }
}

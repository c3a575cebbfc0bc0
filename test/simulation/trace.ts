const keptLines = 60;

/** What happened, line by line: the last lines for reading, and a hash of all of them to compare two runs by. */
export class Trace {
  readonly #lines: string[] = [];
  #events = 0;
  #high = 0x811c9dc5;
  #low = 0x01000193;

  add(line: string): void {
    this.#events += 1;
    this.#lines[this.#events % keptLines] = line;
    // Two FNV-1a hashes of 32 bits with different starts; a cryptographic one would take most of the run's time.
    for (let index = 0; index < line.length; index += 1) {
      const code = line.charCodeAt(index);
      this.#high = Math.imul(this.#high ^ code, 0x01000193);
      this.#low = Math.imul(this.#low ^ (code + index), 0x01000193);
    }
  }

  get events(): number {
    return this.#events;
  }

  get hash(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  get lastLines(): string[] {
    const start = Math.max(1, this.#events - keptLines + 1);
    return Array.from(
      { length: this.#events - start + 1 },
      (_, index) => `${start + index} ${this.#lines[(start + index) % keptLines]}`,
    );
  }
}

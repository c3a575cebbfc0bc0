/** After how many ms a batch was in, how many rows it was meant to have, how many ms its insert took. */
export type IngestPoint = [atMs: number, rows: number, latencyMs: number];

const most = 32;

/** How the size of batches went while a file was taken in: few points, whatever the length of the file. */
export class IngestTrace {
  #points: IngestPoint[] = [];
  #step = 1;
  #seen = 0;

  get points(): readonly IngestPoint[] {
    return this.#points;
  }

  add(atMs: number, { rows, latencyMs }: { rows: number; latencyMs: number }): void {
    const isKept = this.#seen % this.#step === 0;
    this.#seen += 1;
    if (!isKept) return;
    this.#points.push([Math.round(atMs), rows, Math.round(latencyMs * 10) / 10]);
    if (this.#points.length < most) return;
    // Every other one from here on, and of those before.
    this.#points = this.#points.filter((_, index) => index % 2 === 0);
    this.#step *= 2;
  }
}

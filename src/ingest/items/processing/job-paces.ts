import type { ClaimedItem, ItemJob } from '../types.ts';
import type { Pacing, ProviderPace } from './pacing.ts';
import type { Processor } from './processors/types.ts';

/** Rows that wait for their next step while they are locked, at least; more if the providers take more. */
const minOpen = 64;

/** The paces of all providers that a job calls: one, or one for each step of a chain. */
export class JobPaces {
  readonly #byName: ReadonlyMap<string, ProviderPace>;
  readonly #processor: Processor;
  readonly #options: unknown;
  /** The provider that new rows need first. */
  readonly entry: ProviderPace;
  readonly all: readonly ProviderPace[];

  constructor(
    pacing: Pacing,
    { job, processor, options }: { job: ItemJob; processor: Processor; options: unknown },
  ) {
    this.#processor = processor;
    this.#options = options;
    const first = processor.provider?.(options) ?? processor.name;
    this.entry = pacing.providerFor(job, first);
    const others = (processor.providers?.(options) ?? []).filter((name) => name !== first);
    this.#byName = new Map([
      [first, this.entry],
      ...others.map((name) => [name, pacing.providerFor(job, name)] as const),
    ]);
    this.all = [...this.#byName.values()];
  }

  /** Another host that a strategy calls has the pace of the first. */
  of(name: string): ProviderPace {
    return this.#byName.get(name) ?? this.entry;
  }

  /** The provider that a row needs next. */
  ofItem({ progressJson = null }: Pick<ClaimedItem, 'progressJson'>): ProviderPace {
    const { providerAt } = this.#processor;
    if (progressJson === null || providerAt === undefined) return this.entry;
    return this.of(providerAt(this.#options, progressJson));
  }

  /** How many calls to it could start now, while so many rows are under way. */
  room(pace: ProviderPace, open: number): number {
    if (this.all.length === 1) return pace.room;
    const most = this.all.reduce((sum, { concurrency }) => sum + 2 * concurrency, 0);
    return Math.min(pace.room, Math.max(minOpen, most) - open);
  }

  /** When there may be room for the first of them. */
  get startsInMs(): number {
    return Math.min(...this.all.map(({ startsInMs }) => startsInMs));
  }

  async refresh(): Promise<void> {
    for (const pace of this.all) await pace.refresh();
  }

  onChange(listener: () => void): () => void {
    const stops = this.all.map((pace) => pace.onChange(listener));
    return () => {
      for (const stop of stops) stop();
    };
  }
}

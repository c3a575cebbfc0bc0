import type { Database } from '../../../lib/postgres/db.ts';
import { itemErrors } from '../errors.ts';
import { type ItemLimit, itemRoomStatement } from '../store.ts';

/** A look is believed for this long; what this process takes in meanwhile is added to it. */
const rememberMs = 1_000;
const maxRemembered = 10_000;
const retryAfterSeconds = 60;

/** Backpressure: a tenant with too many open rows is refused before its file is read. */
export class ItemRoom {
  readonly #db: Database;
  readonly #maxOpenItems: number;
  readonly #looks = new Map<string, ItemLimit & { atMs: number }>();

  constructor({ db, maxOpenItems }: { db: Database; maxOpenItems: number }) {
    this.#db = db;
    this.#maxOpenItems = maxOpenItems;
  }

  async assertRoom(tenantId: string): Promise<void> {
    const known = this.#looks.get(tenantId);
    if (known && performance.now() - known.atMs < rememberMs && known.open < known.limit) return;
    const { open, limit } = await this.#look(tenantId);
    if (open < limit) return;
    throw itemErrors.raise.items_quota_exceeded(
      `The tenant has ${open} open rows, and may have ${limit}; come back in ${retryAfterSeconds} s`,
      { retryAfterSeconds, details: { open, limit } },
    );
  }

  /** Rows of a job that has become visible. */
  taken(tenantId: string, rows: number): void {
    const known = this.#looks.get(tenantId);
    if (known) known.open += rows;
  }

  async #look(tenantId: string): Promise<ItemLimit> {
    const statement = itemRoomStatement({ tenantId, maxOpenItems: this.#maxOpenItems });
    const [row] = await this.#db.statement<ItemLimit>({ role: 'sluice_tenant', tenantId }, statement);
    const look = row ?? { open: 0, limit: this.#maxOpenItems };
    if (this.#looks.size >= maxRemembered) this.#looks.clear();
    this.#looks.set(tenantId, { ...look, atMs: performance.now() });
    return look;
  }
}

import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { adapterFailures } from '../errors.ts';
import type { AdapterKey, ScanLease } from '../types.ts';
import type { ScanDeps } from './scan.ts';
import { claimScan, dropScan, holdScan, keepScan } from './store.ts';

type LeaseDeps = Pick<ScanDeps, 'db' | 'logger' | 'leaseMs' | 'workerId'>;

/**
 * The lease of a scan: only one process at a time scans an adapter. It is renewed while the scan runs. Every write
 * checks it in the same transaction, so a process that slept past its lease writes nothing more.
 */
export class HeldScan {
  readonly key: ScanLease;
  readonly #deps: LeaseDeps;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;

  private constructor(deps: LeaseDeps, key: ScanLease) {
    this.#deps = deps;
    this.key = key;
    this.#timer = setInterval(() => void this.#keep(), deps.leaseMs / 3);
    this.#timer.unref();
  }

  /** Returns null when another scan is running. */
  static async claim(deps: LeaseDeps, { tenantId, name }: AdapterKey): Promise<HeldScan | null> {
    const key = { tenantId, name, token: newId() };
    const { leaseMs, workerId: scanningBy } = deps;
    const isOurs = await deps.db.tenant(tenantId, (tx) => claimScan(tx, { ...key, leaseMs, scanningBy }));
    return isOurs ? new HeldScan(deps, key) : null;
  }

  get isLost(): boolean {
    return this.#lost.signal.aborted;
  }

  /** Runs one transaction of the scan. Throws, and writes nothing, once another scan has taken over. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#deps.db.tenant(this.key.tenantId, async (tx) => {
      await this.fence(tx);
      return work(tx);
    });
  }

  async fence(tx: Tx): Promise<void> {
    if (await holdScan(tx, this.key)) return;
    this.#lost.abort();
    throw adapterFailures.raise.adapter_scan_lost(
      `The scan of adapter ${this.key.name} lost its lease; another scan has taken over`,
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** For a scan that could not record its result. */
  async giveBack(): Promise<void> {
    this.stop();
    const { db, logger } = this.#deps;
    await db
      .tenant(this.key.tenantId, (tx) => dropScan(tx, this.key))
      .catch((err: unknown) =>
        logger.warn({ err, ...this.key }, 'the lease of a scan could not be released and will expire'),
      );
  }

  async #keep(): Promise<void> {
    const { db, logger, leaseMs } = this.#deps;
    try {
      if (await db.tenant(this.key.tenantId, (tx) => keepScan(tx, { ...this.key, leaseMs }))) return;
      this.#lost.abort();
    } catch (err) {
      // The next heartbeat tries again. The scan's writes are fenced in any case.
      logger.warn({ err, tenant_id: this.key.tenantId, adapter: this.key.name }, 'a scan missed a heartbeat');
    }
  }
}

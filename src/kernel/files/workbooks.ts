import type { Spool } from '../../lib/formats/spool.ts';
import type { RowReader } from '../../lib/rows/types.ts';
import { type OpenWorkbook, WorkbookReaders } from '../../lib/rows/xlsx/workbook-readers.ts';
import { TenantSlots } from '../limits/tenant-slots.ts';

/** Bounds the memory of the thread: see `heapMb` of the readers. */
const atOnce = 8;

/** Workbooks of tenants, read in a thread of their own: a few at once for one tenant, and for all of them. */
export class Workbooks {
  readonly #readers = new WorkbookReaders();
  readonly #slots: TenantSlots;

  constructor({ perTenant }: { perTenant: number }) {
    this.#slots = new TenantSlots({
      what: 'workbooks',
      setting: 'TENANT_CONCURRENT_PARSES',
      perTenant,
      total: atOnce,
    });
  }

  /** For a request: waits for a slot of its tenant, and stops when the client has gone. */
  forRequest({ tenantId, signal }: { tenantId: string; signal: AbortSignal }): OpenWorkbook {
    return async (file, options) => {
      const release = await this.#slots.take(tenantId, signal).catch(closing(file));
      const reader = await this.#readers.open(file, { ...options, signal }).catch((error: unknown) => {
        release();
        throw error;
      });
      return closingWith(reader, release);
    };
  }

  /** For a job's own file: the worker limits how many jobs of a tenant run. */
  forJob(): OpenWorkbook {
    return (file, options) => this.#readers.open(file, { ...options, signal: new AbortController().signal });
  }

  close(): Promise<void> {
    return this.#readers.close();
  }
}

const closing = (file: Spool) => async (error: unknown) => {
  await file.close();
  throw error;
};

function closingWith(reader: RowReader, onClosed: () => void): RowReader {
  return {
    format: reader.format,
    delimiter: reader.delimiter,
    get columns() {
      return reader.columns;
    },
    get layout() {
      return reader.layout;
    },
    get notes() {
      return reader.notes;
    },
    read: (maxRows, maxBytes) => reader.read(maxRows, maxBytes),
    close: () => reader.close().finally(onClosed),
  };
}

/**
 * PDF streams unfold into byte arrays, which no limit of a thread's heap covers: a page of 60 KB can ask for 60 MB,
 * one of 60 MB for 60 GB. In the thread that reads documents, byte arrays are therefore counted as they are made.
 */
export interface AllocationGuard {
  /** Begins to count anew: what the page before asked for is garbage by now. */
  restart(maxBytes: number): void;
  isExceeded(): boolean;
}

/** Only for a thread of its own: it replaces a global, and has to run before the reader of PDFs is loaded. */
export function guardAllocations(): AllocationGuard {
  let maxBytes = Number.POSITIVE_INFINITY;
  let allocatedBytes = 0;
  let isExceeded = false;
  const count = (bytes: number) => {
    allocatedBytes += bytes;
    if (allocatedBytes <= maxBytes) return;
    isExceeded = true;
    throw new RangeError(`More than ${maxBytes} bytes were requested`);
  };
  const original = globalThis.Uint8Array;
  const guarded: typeof Uint8Array = new Proxy(original, {
    construct(target, args: unknown[], newTarget) {
      if (typeof args[0] === 'number') count(args[0]);
      return Reflect.construct(target, args, newTarget === guarded ? target : newTarget);
    },
  });
  globalThis.Uint8Array = guarded;
  // Without it the reader of PDFs unfolds streams itself, into arrays that are counted.
  Reflect.deleteProperty(globalThis, 'DecompressionStream');
  return {
    restart: (max) => {
      maxBytes = max;
      allocatedBytes = 0;
      isExceeded = false;
    },
    isExceeded: () => isExceeded,
  };
}

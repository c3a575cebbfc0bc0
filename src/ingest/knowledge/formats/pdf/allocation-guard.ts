/**
 * PDF streams decompress into byte arrays, which the heap limit of a thread does not cover: a page of 60 KB can need
 * 60 MB, one of 60 MB 60 GB. So byte arrays are counted in the thread that reads documents.
 */
export interface AllocationGuard {
  /** Restarts counting: the arrays of the previous page are garbage by now. */
  restart(maxBytes: number): void;
  isExceeded(): boolean;
}

/** Only for a separate thread: it replaces a global, and must run before the PDF library is loaded. */
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
  // Without it the PDF library decompresses streams itself, into arrays that are counted.
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

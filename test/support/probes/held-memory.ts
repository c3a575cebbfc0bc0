import v8 from 'node:v8';
import vm from 'node:vm';

export interface MemoryWatch {
  stop(): void;
  peakBytes(): number;
}

/**
 * What the process holds beyond what it held at first, looked at while it works. What nobody holds any more and was not
 * collected yet is no growth: before it counts as too much, it is collected.
 */
export function watchMemory(mostBytes: number): MemoryWatch {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  const heldBytes = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  collect();
  const before = heldBytes();
  let peak = 0;
  const look = () => {
    if (heldBytes() - before >= mostBytes) collect();
    peak = Math.max(peak, heldBytes() - before);
  };
  const timer = setInterval(look, 5);
  return {
    stop: () => {
      look();
      clearInterval(timer);
    },
    peakBytes: () => peak,
  };
}

/** What the process holds at most while the work is done, beyond what it held before. */
export async function growthDuring(
  work: () => Promise<unknown>,
  { mostBytes }: { mostBytes: number },
): Promise<number> {
  const memory = watchMemory(mostBytes);
  await work().finally(memory.stop);
  return memory.peakBytes();
}

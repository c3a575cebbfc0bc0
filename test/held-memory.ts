import v8 from 'node:v8';
import vm from 'node:vm';

/**
 * What the process holds at most while the work is done, beyond what it held before. What nobody holds any more and was
 * not collected yet is no growth: before it counts as too much, it is collected.
 */
export async function growthDuring(
  work: () => Promise<unknown>,
  { mostBytes }: { mostBytes: number },
): Promise<number> {
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
  await work().finally(() => clearInterval(timer));
  look();
  return peak;
}

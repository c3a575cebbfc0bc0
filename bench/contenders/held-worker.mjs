// A worker that notes how late each job begins: from the moment at which its dispatch was due.
import { openKernel } from '../harness/kernel.mjs';
import { Slots } from '../harness/slots.mjs';
import { settings, untilGo } from './protocol.mjs';

const { appUrl, best, total, ratePerSecond, slots: slotCount } = settings;
const slots = new Slots({ count: slotCount, total });
const perJobNs = 1_000_000_000n / BigInt(ratePerSecond);
const begun = new Uint8Array(total);
let firstDueNs = 0n;

const { kernel } = await openKernel({
  appUrl,
  ...best,
  onSlice({ job }) {
    const [number, dueNs] = job.subjectId.split('/');
    if (dueNs === undefined) return;
    begun[Number(number)] = 1;
    firstDueNs = BigInt(dueNs) - BigInt(number) * perJobNs;
    slots.add(Number(number), Number(process.hrtime.bigint() - BigInt(dueNs)) / 1e6);
  },
});
await kernel.start({ work: true });
process.on('message', async (message) => {
  if (message !== 'stop') return;
  await kernel.stop(5_000);
  addMissing();
  process.send({ is: 'pickups', ...slots.summary() });
});
await untilGo();

/** A job that has not begun has waited at least until now. */
function addMissing() {
  const nowNs = process.hrtime.bigint();
  for (let number = 0; number < total; number += 1) {
    if (begun[number] === 1) continue;
    slots.add(number, Number(nowNs - firstDueNs - BigInt(number) * perJobNs) / 1e6);
  }
}

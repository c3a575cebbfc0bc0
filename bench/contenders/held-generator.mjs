// Dispatches jobs at a fixed rate by its own clock, however long each dispatch takes.
import { dispatchTo, openKernel, tenantIds } from '../harness/kernel.mjs';
import { settings, untilGo } from './protocol.mjs';

const { appUrl, ratePerSecond, seconds, tenants } = settings;
/** A client that has so many open requests sends no more; what is due waits, and its time counts. */
const maxOpen = 2_000;
const tickMs = 2;

const { kernel } = await openKernel({ appUrl });
const ids = tenantIds(tenants);
const total = ratePerSecond * seconds;
const perJobNs = 1_000_000_000n / BigInt(ratePerSecond);
let next = 0;
let open = 0;
let sent = 0;
const refused = new Map();

await dispatchTo(kernel, { tenantId: ids[0], subjectId: 'warm-up' });
await untilGo();
const startNs = process.hrtime.bigint();
const startedAtMs = Date.now();
const endNs = startNs + BigInt(seconds) * 1_000_000_000n;
await new Promise((resolve) => {
  const timer = setInterval(() => {
    const nowNs = process.hrtime.bigint();
    sendDue(nowNs);
    if (nowNs < endNs) return;
    clearInterval(timer);
    resolve();
  }, tickMs);
});
process.send({ is: 'sent', sent, due: total, startedAtMs, refused: [...refused] });

function sendDue(nowNs) {
  while (next < total && open < maxOpen) {
    const dueNs = startNs + BigInt(next) * perJobNs;
    if (dueNs > nowNs) return;
    void send(next, dueNs);
    next += 1;
  }
}

async function send(number, dueNs) {
  open += 1;
  try {
    const tenantId = ids[number % ids.length];
    await dispatchTo(kernel, { tenantId, subjectId: `${number}/${dueNs}` });
    sent += 1;
  } catch (error) {
    refused.set(error.code, (refused.get(error.code) ?? 0) + 1);
  } finally {
    open -= 1;
  }
}

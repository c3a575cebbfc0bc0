// Follows the events of all tenants as a server does for its live streams, and notes how late each arrives.
import { EventTails } from '../../dist/modules/kernel/events/tail.js';
import { openKernel, tenantIds } from '../harness/kernel.mjs';
import { Slots } from '../harness/slots.mjs';
import { settings, untilGo } from './protocol.mjs';

const { appUrl, tenants, total, slots: slotCount } = settings;
const slots = new Slots({ count: slotCount, total });
const { kernel, db } = await openKernel({ appUrl });
// As a member it hears the announcements of others; it takes no jobs.
await kernel.start({ work: false });
const tails = new EventTails({ db, wake: kernel.wake, onError: (error) => console.error(error) });
const { signal } = new AbortController();
const seen = new Set();
let twice = 0;

for (const tenantId of tenantIds(tenants)) void follow(tenantId, await endOf(tenantId));
process.on('message', (message) => {
  if (message === 'count') process.send({ is: 'delivered', count: seen.size });
  if (message === 'stop') process.send({ is: 'deliveries', twice, ...slots.summary() });
});
await untilGo();

/** Everything that happens from now on. */
function endOf(tenantId) {
  return tails.end ? tails.end(tenantId) : tails.head();
}

async function follow(tenantId, after) {
  const filter = { types: ['job.completed'] };
  for await (const { events } of tails.follow({ tenantId, after, filter, signal })) {
    const nowMs = Date.now();
    for (const each of events) note(each.event ?? each, nowMs);
  }
}

/** `occurredAt` is written just before the commit, so the commit itself is part of the time. */
function note({ data, subject, occurredAt }, nowMs) {
  const [number, dueNs] = String(data.subject_id).split('/');
  if (dueNs === undefined) return;
  if (seen.has(subject)) twice += 1;
  seen.add(subject);
  slots.add(Number(number), nowMs - occurredAt.getTime());
}

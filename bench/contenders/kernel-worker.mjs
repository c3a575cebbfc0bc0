// A process of Sluice's kernel with a pipeline that does nothing, writes a row, reports when it starts, or is slow.
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '../../dist/modules/lib/postgres/sql.js';
import { openKernel } from '../harness/kernel.mjs';
import { countHandled, settings, tellBegin, tellHandled, untilGo } from './protocol.mjs';

const { appUrl, tellsBegin, holdsFirst, sliceMs = 0, effect, best } = settings;
const holdMs = 60_000;

const { kernel } = await openKernel({
  appUrl,
  ...best,
  async onSlice({ job, signal }) {
    if (!tellsBegin) {
      countHandled(1);
      return;
    }
    tellBegin(job.subjectId);
    if (sliceMs > 0) await pause(sliceMs);
    // Held until this process is killed, unless another one has died with the job before.
    if (holdsFirst && job.struckBy.length === 0) await untilAborted(signal);
  },
  ...(effect
    ? { effectOf: ({ subjectId }) => sql`insert into effects (subject_id) values (${subjectId})` }
    : {}),
});

if (tellsBegin) {
  await kernel.start({ work: true });
  await untilGo();
} else {
  await untilGo();
  tellHandled();
  await kernel.start({ work: true });
}

function untilAborted(signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, holdMs).unref();
    signal.addEventListener('abort', resolve, { once: true });
  });
}

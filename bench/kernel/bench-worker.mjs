// A worker process of a benchmark: tells its parent, on a clock that all processes of a machine share, when a slice
// begins. With `holdFirst` it holds a job until it is killed, unless a worker has died with that job before.
import { openKernel } from './bench-kernel.mjs';

const { appUrl, holdFirst } = JSON.parse(process.argv[2]);
const holdMs = 60_000;

const { kernel } = await openKernel({
  appUrl,
  async onSlice({ job, signal }) {
    const atNs = process.hrtime.bigint();
    process.send({ is: 'begin', subjectId: job.subjectId, atNs: atNs.toString() });
    if (holdFirst && job.struckBy.length === 0) await untilAborted(signal);
  },
});
await kernel.start({ work: true });
process.send({ is: 'started' });
// A parent that is gone needs no worker.
process.once('disconnect', () => process.exit(0));

function untilAborted(signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, holdMs).unref();
    signal.addEventListener('abort', resolve, { once: true });
  });
}

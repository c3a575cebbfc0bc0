/**
 * Measures inside a process how long its main thread is blocked; loaded with `--import`. It counts the thread's own
 * time on a core, which a busy machine does not lengthen. Between two ticks of a short timer that is the longest block,
 * and at most one tick more. Long blocks are appended to a file.
 */
import fs from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const tickMs = 5;
const reportedMs = 15;
const file = process.env.BLOCKS_FILE;

if (isMainThread && file) measure(fs.openSync(`/proc/self/task/${process.pid}/schedstat`));

function measure(descriptor) {
  fs.writeFileSync(`${file}.pid`, String(process.pid));
  const buffer = Buffer.alloc(128);
  const onCoreMs = () => {
    const length = fs.readSync(descriptor, buffer, 0, buffer.length, 0);
    return Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6;
  };
  let before = onCoreMs();
  setInterval(() => {
    const now = onCoreMs();
    if (now - before > reportedMs) fs.appendFileSync(file, `${JSON.stringify({ blockMs: now - before })}\n`);
    before = onCoreMs();
  }, tickMs).unref();
  // For the test of the probe itself: a block that cannot be overlooked.
  process.on('SIGUSR2', () => {
    for (const start = onCoreMs(); onCoreMs() - start < 100; );
  });
}

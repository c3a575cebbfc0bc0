import { test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { openGuardConnection } from './guard-connection.ts';

const database = useDatabase();

/** As a process that is stopped, or gets no turn on a busy machine. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function pingWhileStandingStill(): Promise<void> {
  const guard = await openGuardConnection({
    ...{ url: database.appUrl, lockKey: '7', channel: 'guarded', answerWithinMs: 200 },
    onNotification: () => {},
  });
  const asked = guard?.ping();
  standStill(500);
  try {
    await asked;
  } finally {
    await guard?.close();
  }
}

test('an answer that came while the process stood still counts, however late it is read', async () => {
  // More than once only where the database itself took longer than the process stood still.
  const isAnswered = () =>
    pingWhileStandingStill().then(
      () => true,
      () => false,
    );
  await eventually(isAnswered, 'the ping is answered');
});

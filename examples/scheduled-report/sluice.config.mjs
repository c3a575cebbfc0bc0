import { defineTask } from 'sluice';
import { z } from 'zod';

/** Every morning at six, whatever the season. Every two seconds as well, so that there is something to see. */
const report = defineTask({
  name: 'morning-report',
  input: z.object({ day: z.string() }),
  schedule: {
    cron: '0 6 * * *',
    timeZone: 'Europe/Berlin',
    input: (tick) => ({ day: tick.toISOString().slice(0, 10) }),
  },
  run: ({ day }, { step }) => step('write', () => `Report of ${day}`),
});

const heartbeat = defineTask({
  name: 'heartbeat',
  input: z.object({ at: z.string() }),
  schedule: { every: 2_000, input: (tick) => ({ at: tick.toISOString() }) },
  run: ({ at }) => ({ at }),
});

export default { tasks: [report, heartbeat] };

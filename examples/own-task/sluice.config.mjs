import { defineTask } from 'sluice';
import { z } from 'zod';

/** Greets somebody, after a moment in which it holds no slot. */
const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string().min(1) }),
  run: async ({ name }, { step, sleep }) => {
    const greeting = await step('greeting', () => `Hello, ${name}`);
    await sleep(50);
    return { greeting };
  },
});

export default { tasks: [greet] };

export const pipelinesPage = `Pipelines of your own advance in slices; each slice commits what it wrote
together with its checkpoint ([building.md](building.md)):

\`\`\`js
// sluice.config.mjs
import { definePipeline } from 'sluice';
import { z } from 'zod';

const count = definePipeline({
  name: 'count',
  input: z.object({ to: z.int().positive() }),
  advance: async ({ job }) => {
    const at = (job.checkpoint.at ?? 0) + 1;
    return { outcome: { type: at < job.input.to ? 'continue' : 'done' }, checkpoint: { at } };
  },
});
export default { pipelines: [count] };
\`\`\``;

export const tasksPage = `Tasks of your own are functions that run as jobs; what a step returned is remembered
([building.md](building.md)):

\`\`\`js
// sluice.config.mjs
import { defineTask } from 'sluice';
import { z } from 'zod';

const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string() }),
  run: async ({ name }, { step }) => step('greeting', () => \`Hello, \${name}\`),
});
export default { tasks: [greet] };
\`\`\``;

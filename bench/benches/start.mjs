import { until } from '../harness/children.mjs';
import { format } from '../harness/figures.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { startProcess } from '../harness/sluice.mjs';

const key = 'seconds';
const [cold, warm] = ['Sluice, cold', 'Sluice, warm'];

export const bench = {
  name: 'start',
  title: 'From the command to a server that is ready',
  about: `
\`sluice serve\` with its embedded PostgreSQL, from the start of the process until \`/health/ready\` answers 200.
Cold: an empty data directory, so the database is made, migrated and provisioned. Warm: the same directory again,
after it was stopped in order.`,
  size: 1,
  isEmbedded: true,
  metrics: [{ key, title: 'seconds', better: 'less' }],
  async open() {
    let installation = null;
    const measure = async () => ({ [key]: await secondsToReady(installation.path) });
    return {
      contenders: [
        {
          label: cold,
          async measure() {
            await installation?.remove();
            installation = await makeScratch();
            return measure();
          },
        },
        { label: warm, measure },
      ],
      close: () => installation?.remove(),
    };
  },
  targets: [
    { label: cold, limit: 5 },
    { label: warm, limit: 2 },
  ].map(({ label, limit }) => ({
    text: `${label.slice('Sluice, '.length)} start below ${limit} s`,
    judge(figureOf) {
      const seconds = figureOf(label, key);
      return { reached: seconds < limit, figure: `${format(seconds)} s` };
    },
  })),
};

async function secondsToReady(dataDir) {
  const startedAtMs = performance.now();
  const server = await startProcess(['serve', '--port', '0'], { dataDir });
  try {
    const url = await server.firstUrl();
    const isReady = async () => (await fetch(`${url}/health/ready`)).ok;
    await until('the server is ready', isReady, { everyMs: 5 });
    return (performance.now() - startedAtMs) / 1000;
  } finally {
    await server.stop();
  }
}

import { defineConfig } from 'vitest/config';

// Every test file belongs to exactly one project, so a plain `vitest run` runs everything once, and a part of
// it is chosen with --project. `database` is the part that runs a second time on the oldest PostgreSQL.
const databaseTests = [
  // Not the room of the kernel that knows no database: crawl.
  'src/kernel/!(crawl)/**/*.test.ts',
  'src/lib/postgres/{db,migrate,sql}*.test.ts',
  'src/lib/postgres/transaction/*.test.ts',
  'src/**/{store,*-store,*.store,*.database,claim}.test.ts',
];
const tidyTests = ['test/tidy.test.ts'];
const smokeTests = ['test/smoke/**/*.test.ts'];
// `npm run screens` draws pictures with the same browser, server and seed; that is no test.
const browserTests =
  process.env.SLUICE_SCREENS === undefined ? ['test/browser/**/*.test.ts'] : ['test/browser/screens.ts'];
// Faults against one pipeline at a time: `npm run chaos` has them; `npm test` has the short run over all together.
// Where each seam has its crash tests (test/failpoints), killing at random moments is left to `npm run chaos` as well.
const partialChaos = [
  'kernel',
  'items-chaos',
  'items-upload',
  'upload-chaos',
  'syncs-chaos',
  'many-syncs',
  'adapters-crash',
].map((name) => `test/chaos/${name}.test.ts`);
const isChaos = process.env.SLUICE_CHAOS === 'full';

// Projects do not inherit these from the root, and must agree on the number of workers.
const shared = {
  environment: 'node',
  pool: 'forks',
  // More than a small machine has cores: many tests wait, for leases, retries and processes of their own.
  maxWorkers: 3,
  // A machine that has stalled for seconds, or is many times slower, is no failure.
  testTimeout: 90_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000 } },
} as const;

export default defineConfig({
  test: {
    // At the root and not in the projects: it runs once however many projects are chosen, so that one
    // PostgreSQL server serves the whole run.
    globalSetup: ['test/support/worlds/database-server.ts'],
    maxWorkers: shared.maxWorkers,
    projects: [
      { test: { ...shared, name: 'tidy', include: tidyTests } },
      // One process runs many files: what they test keeps nothing in globals, each file has a database of its own, and
      // loading the product again for each of them took more time than most of them need.
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['src/**/*.test.ts', 'console/src/**/*.test.ts'],
          exclude: databaseTests,
          isolate: false,
        },
      },
      { test: { ...shared, name: 'database', include: databaseTests, isolate: false } },
      {
        test: {
          ...shared,
          name: 'journeys',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...tidyTests, ...smokeTests, ...browserTests, ...(isChaos ? [] : partialChaos)],
        },
      },
      { test: { ...shared, name: 'smoke', include: smokeTests } },
      // One file at a time and after the others: a browser beside a server takes all that a small machine has.
      {
        test: {
          ...shared,
          name: 'browser',
          include: browserTests,
          maxWorkers: 1,
          isolate: false,
          sequence: { groupOrder: 1 },
          testTimeout: 600_000,
          // The first of them builds server and console.
          hookTimeout: 300_000,
        },
      },
    ],
  },
});

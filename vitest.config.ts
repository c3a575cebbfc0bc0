import { defineConfig } from 'vitest/config';

// Every test file belongs to exactly one project, so a plain `vitest run` runs everything once, and a part of
// it is chosen with --project. `database` is the part that runs a second time on the oldest PostgreSQL.
const databaseTests = [
  'src/kernel/**/*.test.ts',
  'src/lib/{db,database,migrate,sql}*.test.ts',
  'src/**/{store,*-store,*.store,*.database,claim}.test.ts',
];
const tidyTests = ['test/tidy.test.ts'];
const smokeTests = ['test/smoke/**/*.test.ts'];
// Faults against one pipeline at a time: `npm run chaos` has them; `npm test` has the short run over all together.
const partialChaos = ['kernel', 'items-chaos', 'upload-chaos', 'syncs-chaos'].map(
  (name) => `test/chaos/${name}.test.ts`,
);
const isChaos = process.env.SLUICE_CHAOS === 'full';

// Projects do not inherit these from the root, and must agree on the number of workers.
const shared = {
  environment: 'node',
  pool: 'forks',
  maxWorkers: 2,
  testTimeout: 30_000,
  hookTimeout: 60_000,
} as const;

export default defineConfig({
  test: {
    // At the root and not in the projects: it runs once however many projects are chosen, so that one
    // PostgreSQL server serves the whole run.
    globalSetup: ['test/database-server.ts'],
    maxWorkers: shared.maxWorkers,
    projects: [
      { test: { ...shared, name: 'tidy', include: tidyTests } },
      { test: { ...shared, name: 'unit', include: ['src/**/*.test.ts'], exclude: databaseTests } },
      { test: { ...shared, name: 'database', include: databaseTests } },
      {
        test: {
          ...shared,
          name: 'journeys',
          include: ['test/**/*.test.ts'],
          exclude: [...tidyTests, ...smokeTests, ...(isChaos ? [] : partialChaos)],
        },
      },
      { test: { ...shared, name: 'smoke', include: smokeTests } },
    ],
  },
});

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

/** Everything of a house that counts sheep: one file in one folder. */
const toyHouse = `
import { z } from 'zod';
import { defineHouse } from '../../kernel/house/house.ts';
import { problems } from '../../kernel/http/replies.ts';
import { principalOf } from '../../kernel/http/route.ts';
import { unexpectedOutcome } from '../../kernel/jobs/run/slice-runner.ts';
import { dispatch } from '../../kernel/jobs/dispatch/service.ts';
import { defineErrors } from '../../lib/errors.ts';
import { wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

const toyErrors = defineErrors({
  flock_too_large: { kind: 'invalid', status: 422, title: 'The flock is too large', next: 'Count fewer sheep.' },
});

export const toyHouse = defineHouse({
  name: 'toy',
  settings: {
    toyMaxSheep: setting('TOY_MAX_SHEEP', wholeNumber({ min: 1, max: 1_000 }), {
      default: 10,
      describe: 'How many sheep one job counts.',
    }),
  },
  errors: [{ title: 'Sheep', catalogue: toyErrors }],
  commands: {
    sheep: async () => (program) => void program.command('sheep').description('Count sheep.').action(() => {}),
  },
  open: async ({ kernel }, { toyMaxSheep }) => ({
    pipeline: {
      name: 'toy',
      maxRetries: 0,
      advance: async ({ job }) => {
        const counted = Number(job.checkpoint.counted ?? 0) + 1;
        const isDone = counted === job.payload.sheep;
        return {
          outcome: { type: isDone ? 'done' : 'continue' },
          checkpoint: { counted },
          counters: { total: counted },
        };
      },
      onError: unexpectedOutcome,
    },
    routes: [
      (app) => {
        app.route({
          method: 'POST',
          url: '/api/toy/flocks',
          config: { action: 'job.control' },
          schema: {
            tags: ['toy'],
            summary: 'Count a flock',
            body: z.strictObject({ sheep: z.int() }),
            response: { 202: z.object({ jobId: z.string() }), ...problems(409, 422) },
          },
          handler: async (request, reply) => {
            const { tenantId, userId } = principalOf(request);
            const { sheep } = request.body;
            if (sheep > toyMaxSheep) throw toyErrors.raise.flock_too_large('At most ' + toyMaxSheep + ' sheep');
            const job = { pipeline: 'toy', subjectId: 'flock', maxRetries: 0, createdBy: userId };
            const { jobId } = await dispatch(kernel.jobs, tenantId, { ...job, payload: { sheep } });
            return reply.code(202).send({ jobId });
          },
        });
      },
    ],
    rowCounter: 'total',
  }),
});
`;

const root = path.join(import.meta.dirname, '../..');
const database = useDatabase();
const place = mkdtempSync(path.join(tmpdir(), 'sluice-toy-'));
const program = path.join(place, 'dist/main.js');

beforeAll(async () => {
  const isProduct = (file: string) => !file.endsWith('.test.ts');
  cpSync(path.join(root, 'src'), path.join(place, 'src'), { recursive: true, filter: isProduct });
  for (const name of ['node_modules', 'package.json', 'migrations', 'assets', 'console', 'docs']) {
    symlinkSync(path.join(root, name), path.join(place, name));
  }
  mkdirSync(path.join(place, 'src/ingest/toy'));
  writeFileSync(path.join(place, 'src/ingest/toy/house.ts'), toyHouse);
  const list = path.join(place, 'src/houses.ts');
  const line = "  (await import('./ingest/toy/house.ts')).toyHouse,";
  writeFileSync(list, readFileSync(list, 'utf8').replace(/^\];$/m, `${line}\n];`));
  const { bundleServer } = await import(path.join(root, 'scripts/bundle.mjs'));
  expect(await bundleServer({ root: place, directory: path.join(place, 'dist') })).toBeNull();
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

const sluice = useCommandLine({ program });
const server = useServerProcess(database, { TOY_MAX_SHEEP: '7' }, { program });

interface Body {
  jobId: string;
  code: string;
  data: object[];
  last_day: object;
  paths: Record<string, { post: object }>;
}

async function call(tenantId: string, route: string, body?: object) {
  const headers = { ...(await server.bearer({ tenantId })), 'content-type': 'application/json' };
  const sent = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  const response = await fetch(`${server.url}${route}`, { headers, ...sent });
  return { status: response.status, body: (await response.json()) as Body };
}

test('a house of one folder and one line takes requests and has its jobs run and shown', async () => {
  const tenantId = await newTenant(database);
  const made = await call(tenantId, '/api/toy/flocks', { sheep: 5 });
  expect(made.status).toBe(202);
  const shown = async () => (await call(tenantId, '/api/jobs')).body.data;
  await expect.poll(shown, { timeout: 30_000 }).toEqual([
    expect.objectContaining({
      jobId: made.body.jobId,
      pipeline: 'toy',
      status: 'success',
      counters: { total: 5 },
    }),
  ]);
  const { body: overview } = await call(tenantId, '/api/stats/overview');
  expect(overview.last_day).toMatchObject({ succeeded: 1, rows: 5 });
});

test('its settings and errors hold', async () => {
  const refused = await call(await newTenant(database), '/api/toy/flocks', { sheep: 8 });
  expect(refused).toMatchObject({ status: 422, body: { code: 'flock_too_large' } });
});

test('its route, its setting and its command are documented', async () => {
  const { body } = await call('anybody', '/api/openapi.json');
  expect(body.paths['/api/toy/flocks']?.post).toMatchObject({ summary: 'Count a flock' });
  expect((await sluice.run(['--help'])).stdout).toMatch(/sheep +Count sheep\./);
  expect((await sluice.run(['config', '--json'])).stdout).toContain('TOY_MAX_SHEEP');
});

import { expect, test, vi } from 'vitest';
import { useCommandLine, useExample } from '../support/servers/command-line.ts';
import { useDatabase } from '../support/worlds/database.ts';

vi.setConfig({ testTimeout: 300_000 });

const database = useDatabase();
const sluice = useCommandLine();
const patience = { timeout: 60_000, interval: 25 };

useExample(sluice, 'own-task');

test('the example of an own task does what its page says, in the server and in a worker', async () => {
  const env = { DATABASE_URL: database.ownerUrl, PORT: '0' };
  const server = sluice.start(['serve', '--no-worker'], env);
  await expect.poll(() => server.stdout() || server.stderr(), patience).toContain('running at');
  const client = { SLUICE_URL: /running at (\S+)/.exec(server.stdout())?.[1] ?? '' };
  const worker = sluice.start(['worker'], env);
  expect((await sluice.run(['tasks', 'list'], client)).stdout).toMatch(/^greet +task +-$/m);
  const refused = await sluice.run(['tasks', 'run', 'greet', '--input', '{"name": ""}'], client);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('(input_invalid)');
  const ran = await sluice.run(['tasks', 'run', 'greet', '--input', '{"name": "Ada"}', '--wait'], client);
  expect(ran, worker.stderr()).toMatchObject({ code: 0 });
  expect(JSON.parse(ran.stdout)).toEqual({ greeting: 'Hello, Ada' });
  const jobs = await sluice.run(['jobs', 'list', '--pipeline', 'greet', '--json'], client);
  expect(JSON.parse(jobs.stdout)).toMatchObject({
    data: [{ status: 'success', steps: [{ name: 'greeting' }, { name: 'sleep', sleepMs: 50 }] }],
  });
  const api = JSON.parse(await (await fetch(`${client.SLUICE_URL}/api/openapi.json`)).text());
  expect(api).toMatchObject({
    paths: { '/api/tasks/greet': { post: { summary: 'Dispatch task greet' } }, '/api/tasks/{name}': {} },
  });
  const { input } =
    api.paths['/api/tasks/greet'].post.requestBody.content['application/json'].schema.properties;
  expect(input).toMatchObject({ type: 'object', properties: { name: { type: 'string', minLength: 1 } } });
  for (const { child, ended } of [worker, server]) {
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  }
});

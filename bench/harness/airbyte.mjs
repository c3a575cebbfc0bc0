// As much of Airbyte's public API as a sync needs, on this machine, with a clock and a ledger of its own.
import { createServer } from 'node:http';
import { endOnce } from './cleanup.mjs';

const workspaceId = '18dccc91-0ab1-4f72-9ed7-0b8fc27c5826';
/** A run lasts this long. */
const runMs = 2_000;

export async function startAirbyte() {
  const jobs = new Map();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = respond(request, body, jobs);
    response.writeHead(answer === null ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(answer ?? { status: 404, title: 'resource-not-found', type: 'x', detail: 'x' }),
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = endOnce(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const settings = {
    AIRBYTE_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
    AIRBYTE_API_TOKEN: 'a-token-of-the-benchmarks',
    AIRBYTE_WORKSPACE_ID: workspaceId,
  };
  return { settings, triggers: () => [...jobs.values()], stop };
}

function respond({ method, url }, body, jobs) {
  const { pathname, searchParams } = new URL(url, 'http://airbyte');
  if (method === 'POST' && pathname === '/v1/jobs') {
    const job = { jobId: jobs.size + 1, connectionId: JSON.parse(body).connectionId, atMs: Date.now() };
    jobs.set(job.jobId, job);
    return viewOf(job);
  }
  if (pathname === '/v1/jobs') {
    const found = [...jobs.values()].filter(
      ({ connectionId }) => connectionId === searchParams.get('connectionId'),
    );
    return { data: found.reverse().map(viewOf) };
  }
  const job = /^\/v1\/jobs\/(\d+)$/.exec(pathname);
  if (job) return jobs.has(Number(job[1])) ? viewOf(jobs.get(Number(job[1]))) : null;
  if (pathname === '/v1/connections') return { data: [] };
  if (pathname === `/v1/workspaces/${workspaceId}`) {
    return { workspaceId, name: 'Bench', dataResidency: 'auto', notifications: {} };
  }
  return null;
}

function viewOf({ jobId, connectionId, atMs }) {
  const hasEnded = Date.now() > atMs + runMs;
  const startTime = `${new Date(atMs).toISOString().slice(0, 19)}Z`;
  const view = { jobId, connectionId, jobType: 'sync', startTime };
  if (!hasEnded) return { ...view, status: 'running' };
  return { ...view, status: 'succeeded', duration: 'PT2S', rowsSynced: 10, bytesSynced: 1_000 };
}

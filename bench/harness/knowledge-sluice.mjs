// Knowledge bases through the product: over HTTP, and done when the run says so.
import { until } from './children.mjs';

const waitLimitMs = 7_200_000;
const filesPerForm = 250;

export async function createKb(serve, body) {
  const { kb_id: kbId } = await post(serve, { route: '/api/knowledge', status: 201, body });
  return kbId;
}

export async function addDocuments(serve, { kbId, files }) {
  for (let from = 0; from < files.length; from += filesPerForm) {
    const form = new FormData();
    for (const { name, content } of files.slice(from, from + filesPerForm)) {
      form.append('file', new Blob([content]), name);
    }
    await post(serve, { route: `/api/knowledge/${kbId}/documents`, status: 201, body: form });
  }
}

/**
 * Starts a run and waits for its end; anything but a completed one without errors is an error. The end is the
 * database's, so that how often it is asked for does not matter.
 */
export async function runKb(serve, { database, kbId }) {
  const startedAtMs = performance.timeOrigin + performance.now();
  const { job_id: jobId } = await post(serve, {
    route: `/api/ingestion/jobs/${kbId}/start`,
    status: 202,
    body: {},
  });
  let job;
  const hasEnded = async () => {
    [job] = await database.query(
      `select status, error_message, counters, extract(epoch from finished_at)::float8 * 1000 as "finishedAtMs"
         from ingestion_jobs
        where job_id = $1`,
      [jobId],
    );
    return job.finishedAtMs !== null;
  };
  await until(`the run of ${kbId} has ended`, hasEnded, { everyMs: 250, limitMs: waitLimitMs });
  const { docs_error: documents, chunks_error: chunks } = job.counters;
  if (job.status !== 'success' || documents > 0 || chunks > 0) {
    throw new Error(`The run is ${job.status}: ${job.error_message ?? JSON.stringify(job.counters)}`);
  }
  return { counters: job.counters, seconds: (job.finishedAtMs - startedAtMs) / 1000 };
}

/** What the embedder was given for each passage: its text below the title and headings that it does not contain. */
export async function listEmbedded(database, kbId) {
  const rows = await database.query(
    `select concat_ws(E'\\n', nullif(context, ''), text) as text
       from embeddings_index
      where kb_id = $1
        and vector is not null
      order by chunk_id`,
    [kbId],
  );
  return rows.map(({ text }) => text);
}

export async function search(serve, { kbId, query, mode, limit }) {
  const body = { query, mode, limit };
  const { results } = await post(serve, { route: `/api/knowledge/${kbId}/search`, status: 200, body });
  return results;
}

async function post(serve, { route, status, body }) {
  const isForm = body instanceof FormData;
  const answer = await fetch(`${serve.url}${route}`, {
    method: 'POST',
    headers: { ...serve.headers, ...(isForm ? {} : { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${route} answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

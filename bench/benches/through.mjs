import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { until } from '../harness/children.mjs';
import { format } from '../harness/figures.mjs';
import { createKb } from '../harness/knowledge-sluice.mjs';
import { flushWrites, withClient } from '../harness/postgres.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { loadOf, ownQueries, statementsOf, track } from '../harness/server-load.mjs';
import { startServe } from '../harness/sluice.mjs';
import { byGroup, groupOf } from '../harness/statement-groups.mjs';

const job = 'An items job of one row';
const handoff = 'A scrape hand-off';
const clients = 4;
const warmUpShare = 0.25;
const shownStatements = 12;
const library = pathToFileURL(new URL('../../dist/library.js', import.meta.url).pathname).href;
const targets = {
  [job]: { cpuMs: 2, walKb: 4 },
  [handoff]: { cpuMs: 4, walKb: 8 },
};

export const bench = {
  name: 'through',
  title: 'What one small job costs the database, from the request to its end',
  about: `
One \`sluice serve\` with its worker and default settings. ${clients} clients send jobs over HTTP, each the next one when the
answer has come, and the run ends when every job has ended. An items job is a CSV file of one row for the processor
\`noop\`. A hand-off is a sync of one new reference with a page of text: stored, handed over to a knowledge base, read, cut
into chunks, indexed and reported, with an embedder that returns four numbers at once.

Processor time is that of all PostgreSQL processes in /proc, and WAL is by position; what the same time without jobs
costs is subtracted from both. Both are measured without pg_stat_statements. A second, shorter run records every
statement; there each job is sent when the one before it has ended, so that no statement waits for a lock. A statement
counts as indexing when it names the chunks or a table of the knowledge base. "Without indexing" is the processor time
without their share of the recorded time, and the WAL without theirs.`,
  size: 1_000,
  serverSettings: {
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.track_planning': 'on',
  },
  metrics: [
    { key: 'cpuMs', title: 'CPU ms', better: 'less' },
    { key: 'walKb', title: 'WAL KB', better: 'less' },
    { key: 'cpuWithoutMs', title: 'CPU ms without indexing', better: 'less' },
    { key: 'walWithoutKb', title: 'WAL KB without indexing', better: 'less' },
    { key: 'statements', title: 'statements', better: 'less' },
    { key: 'perSecond', title: 'per second', better: 'more' },
  ],
  async open({ server, size }) {
    const scratch = await makeScratch();
    const database = await server.sluiceDatabase();
    await database.query('create extension pg_stat_statements');
    await track(database, 'none');
    const serve = await startSluice({ database, scratch });
    await prepareHandoffs(serve);
    const stage = { server, database, serve, size, profiles: new Map() };
    return {
      contenders: [
        { label: job, measure: (round) => measure(stage, { label: job, send: sendJob, round }) },
        { label: handoff, measure: (round) => measure(stage, { label: handoff, send: sendHandoff, round }) },
      ],
      describe: () => [...stage.profiles].flatMap(([label, profile]) => profileLines(label, profile)),
      async close() {
        await serve.stop();
        await scratch.remove();
      },
    };
  },
  targets: Object.entries(targets).flatMap(([label, { cpuMs, walKb }]) => [
    target(label, { key: 'cpuWithoutMs', most: cpuMs, unit: 'ms of processor time' }),
    target(label, { key: 'walWithoutKb', most: walKb, unit: 'KB of WAL' }),
  ]),
};

function target(label, { key, most, unit }) {
  return {
    text: `${label}: at most ${most} ${unit}, indexing apart`,
    judge(figureOf) {
      const figure = figureOf(label, key);
      return { reached: figure <= most, figure: format(figure) };
    },
  };
}

async function startSluice({ database, scratch }) {
  const config = `import { defineEmbedder } from ${JSON.stringify(library)};
const embed = (texts) => texts.map(() => [1, 0, 0, 0]);
export default { embedders: [defineEmbedder({ name: 'nothing', model: 'nothing-1', dimensions: 4, embed })] };
`;
  await writeFile(join(scratch.path, 'sluice.config.mjs'), config);
  const settings = { RATE_LIMIT_PER_MINUTE: '1000000', TENANT_REQUESTS_PER_MINUTE: '1000000' };
  return startServe({ database, hasWorker: true, dataDir: scratch.path, settings });
}

async function prepareHandoffs(serve) {
  const embedder = { provider: 'custom', name: 'nothing' };
  await createKb(serve, { kb_id: 'pages', name: 'Pages', embedder });
  await call(serve, {
    method: 'PUT',
    route: '/api/scraping/sources/site',
    statuses: [200, 201],
    body: { mode: 'push', kb_id: 'pages' },
  });
}

async function measure(stage, { label, send, round }) {
  const { database, size } = stage;
  const name = `${round}-${label.length}`;
  const few = Math.max(10, Math.round(size * warmUpShare));
  await flushWrites(database);
  // After a checkpoint, the first change to a page writes all of it: the warm-up takes that on itself.
  await sendAll(stage, { send, count: few, name: `${name}-warm` });
  const load = await loadOf(stage, () => sendAll(stage, { send, count: size, name }));
  const statements = await statementsOf(stage, () =>
    sendAll(stage, { send, count: few, name: `${name}-few`, atOnce: 1 }),
  );
  stage.profiles.set(label, { statements, count: few });
  const groups = byGroup(statements);
  const indexing = groups.find(({ group }) => group === 'indexing') ?? { ms: 0, walBytes: 0 };
  const recordedMs = groups.reduce((sum, { ms }) => sum + ms, 0);
  const cpuMs = load.cpuMs / size;
  const walKb = load.walBytes / size / 1024;
  return {
    cpuMs,
    walKb,
    cpuWithoutMs: cpuMs * (1 - indexing.ms / recordedMs),
    walWithoutKb: walKb - indexing.walBytes / few / 1024,
    statements: statements.reduce((sum, { calls }) => sum + calls, 0) / few,
    perSecond: size / load.seconds,
    idleCpuMsPerSecond: load.idleCpuMs / load.seconds,
    idleWalBytesPerSecond: load.idleWalBytes / load.seconds,
    groups: groups.map((sum) => ({ group: sum.group, ...perJob(sum, few) })),
  };
}

/** Returns when all have ended. Of one client, each job has ended before the next one is sent. */
async function sendAll({ database, serve }, { send, count, name, atOnce = clients }) {
  await withClient(database.ownerUrl, async (client) => {
    const countEnded = async () => {
      const { rows } = await client.query(
        `select count(*) filter (where status = 'success')::int as ended,
                count(*) filter (where status in ('dead_letter', 'failed'))::int as failed
           from ingestion_jobs /* ${ownQueries} */`,
      );
      if (rows[0].failed > 0) throw new Error(`${rows[0].failed} jobs have failed`);
      return rows[0].ended;
    };
    const before = await countEnded();
    let next = 0;
    const untilEnded = (wanted, everyMs) =>
      until(`${wanted} jobs have ended`, async () => (await countEnded()) - before >= wanted, { everyMs });
    const sendInTurn = async () => {
      while (next < count) {
        next += 1;
        await send(serve, `${name}-${next}`);
        if (atOnce === 1) await untilEnded(next, 5);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sendInTurn));
    await untilEnded(count, 100);
  });
}

async function sendJob(serve, name) {
  const form = new FormData();
  form.append('processor', 'noop');
  form.append('options', '{}');
  form.append('file', new Blob([`id,name,email\n1,${name},${name}@example.com\n`]), 'rows.csv');
  await call(serve, { method: 'POST', route: '/api/jobs', statuses: [201], body: form });
}

const words = 'Herons stand at the river and wait for fish that swim by in the shade of old willow trees.';

async function sendHandoff(serve, name) {
  const content = `# Page ${name}\n\n${`${words} `.repeat(8)}\n\nThe page is called ${name}.`;
  const reference = {
    external_id: name,
    url: `https://example.com/${name}`,
    title: `Page ${name}`,
    content,
    media_type: 'text/markdown',
  };
  const body = { references: [reference] };
  await call(serve, { method: 'POST', route: '/api/scraping/site/sync', statuses: [200], body });
}

async function call(serve, { method, route, statuses, body }) {
  const isForm = body instanceof FormData;
  const answer = await fetch(`${serve.url}${route}`, {
    method,
    headers: { ...serve.headers, ...(isForm ? {} : { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!statuses.includes(answer.status)) throw new Error(`${route} answered ${answer.status}: ${text}`);
}

function perJob({ calls, ms, planMs, walBytes }, count) {
  return { calls: calls / count, ms: ms / count, planMs: planMs / count, walBytes: walBytes / count };
}

/** The last round's statements, as a part of the page. */
function profileLines(label, { statements, count }) {
  const cells = (sum) => {
    const { calls, ms, planMs, walBytes } = perJob(sum, count);
    return `${format(calls)} | ${format(ms)} | ${format(planMs)} | ${format(walBytes)}`;
  };
  return [
    `## ${label}: statements`,
    '',
    '| part | calls | ms | of it planning | WAL bytes |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...byGroup(statements).map((sum) => `| ${sum.group} | ${cells(sum)} |`),
    '',
    '| statement | part | calls | ms | of it planning | WAL bytes |',
    '| --- | --- | ---: | ---: | ---: | ---: |',
    ...statements
      .slice(0, shownStatements)
      .map((sum) => `| \`${shortened(sum.query)}\` | ${groupOf(sum.query)} | ${cells(sum)} |`),
    '',
  ];
}

function shortened(query) {
  const text = query.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('`', "'").trim();
  return text.length <= 110 ? text : `${text.slice(0, 107)}…`;
}

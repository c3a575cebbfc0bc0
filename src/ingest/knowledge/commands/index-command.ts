import { type Command, Option } from 'commander';
import { addClientFlags, type Client, connectClient } from '../../../cli/client/client.ts';
import { isRefusal, makeIfMissing, parseKb, routeOf } from '../../../cli/client/knowledge-bases.ts';
import { readPages } from '../../../cli/client/lists.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import type { renderSource, renderStarted } from '../views.ts';
import { type FoundFiles, findFiles, type SendReport, sendChanged } from './files.ts';
import { exitCodeOfRun, explainRun, followRun, type RunView } from './follow.ts';

type SourceView = ReturnType<typeof renderSource>;

interface IndexFlags {
  kb: string;
  watch: 'yes' | 'no';
  keepMissing?: boolean;
  json?: boolean;
}

/** What is to be indexed, looked at before the server is asked for anything. */
type Place = { type: 'files'; found: FoundFiles } | { type: 'website' | 'youtube'; url: string };

export function addIndexCommand(program: Command): void {
  const command = program
    .command('index')
    .description(
      'Put files, a folder or a web site into a knowledge base, which is made if it is missing, and index it. ' +
        'Exit 0: everything is in, 3: something could not be read, 1: failed.',
    )
    .argument('<place>', 'a file, a folder, or the address of a web site or a video')
    .requiredOption('--kb <name>', 'the knowledge base', parseKb)
    .option('--keep-missing', 'keep documents whose files were there the last time and are gone now')
    .addOption(
      new Option('--watch <word>', 'whether to follow the run to its end')
        .choices(['yes', 'no'])
        .default('yes'),
    );
  addClientFlags(command).action(async (place: string, flags: IndexFlags, self: Command) => {
    const what = await placeOf(place);
    const client = await connectClient(self);
    process.exitCode = await interruptible((signal) => index(client, { what, place, flags, signal }));
  });
}

const videoHosts = /(^|\.)(youtube\.com|youtube-nocookie\.com|youtu\.be)$/;

async function placeOf(place: string): Promise<Place> {
  if (!/^https?:\/\//i.test(place)) return { type: 'files', found: await findFiles(place) };
  if (!URL.canParse(place))
    throw new UsageError(`${place} is no address. Allowed: such as https://example.com/docs.`);
  const { href, hostname } = new URL(place);
  return { type: videoHosts.test(hostname) ? 'youtube' : 'website', url: href };
}

interface IndexRun {
  what: Place;
  place: string;
  flags: IndexFlags;
  signal: AbortSignal;
}

async function index(client: Client, { what, place, flags, signal }: IndexRun): Promise<ExitCode> {
  const route = routeOf(flags.kb);
  await makeIfMissing(client, { kb: flags.kb, route, signal });
  if (what.type === 'files') {
    const { sent, unchanged, missing } = await sendChanged(client, { route, found: what.found, signal });
    note(`${sent} files sent, ${unchanged} unchanged.`);
    if (missing.length > 0) await takeAway(client, { missing, place, flags, signal });
  } else {
    await addIfMissing(client, { route, what, signal });
  }
  const jobId = await start(client, { kb: flags.kb, signal });
  if (flags.watch === 'no') {
    if (flags.json) printJson({ kb_id: flags.kb, job_id: jobId });
    else print(jobId);
    return exitCodes.ok;
  }
  const run = await followToEnd(client, { jobId, label: place, signal });
  if (flags.json) printJson(run);
  else print(table([header, rowOf(run)]));
  await explainRun(client, run, { route, signal });
  return exitCodeOfRun(run);
}

/** What was in the place when it was indexed last, and is not there any more. */
async function takeAway(
  client: Client,
  { missing, place, flags, signal }: Omit<IndexRun, 'what'> & Pick<SendReport, 'missing'>,
): Promise<void> {
  const where = shortText(place, 80);
  if (flags.keepMissing) {
    note(`${missing.length} files are gone from ${where}; their documents are kept.`);
    return;
  }
  for (const { file_id: fileId } of missing) {
    const route = `${routeOf(flags.kb)}/documents/${fileId}`;
    await whenIdle(client, { kb: flags.kb, signal }, () => client.delete(route, { signal }));
  }
  note(`${missing.length} files are gone from ${where}, and so are their documents.`);
}

async function followToEnd(
  client: Client,
  run: { jobId: string; label: string; signal: AbortSignal },
): Promise<RunView> {
  try {
    return await followRun(client, run);
  } finally {
    if (run.signal.aborted) {
      note(
        `Run ${run.jobId} goes on without this command; GET /api/ingestion/jobs/${run.jobId}/status tells how.`,
      );
    }
  }
}

const sourcesRead = 10_000;

async function addIfMissing(
  client: Client,
  { route, what, signal }: { route: string; what: { type: string; url: string }; signal: AbortSignal },
): Promise<void> {
  const limit = sourcesRead;
  const { data } = await readPages<SourceView>(client, `${route}/sources`, { query: {}, limit });
  const isThere = data.some(({ type, settings }) => type === what.type && settings.url === what.url);
  if (!isThere) await client.post<SourceView>(`${route}/sources`, { body: what, signal });
}

const idleTries = 5;
const busyCodes = ['job_already_active', 'cleanup_in_progress', 'knowledge_base_busy'];

/** A run that is under way may have passed what was just sent: it is waited for, and another one follows. */
async function start(client: Client, { kb, signal }: { kb: string; signal: AbortSignal }): Promise<string> {
  const route = `/api/ingestion/jobs/${encodeURIComponent(kb)}/start`;
  const started = await whenIdle(client, { kb, signal }, () =>
    client.post<ReturnType<typeof renderStarted>>(route, { signal }),
  );
  return started.job_id;
}

async function whenIdle<T>(
  client: Client,
  { kb, signal }: { kb: string; signal: AbortSignal },
  ask: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!busyCodes.some((code) => isRefusal(error, code)) || tried >= idleTries) throw error;
      note('Another run is under way; this one starts when that one has ended.');
      const { status } = await followRun(client, { jobId: encodeURIComponent(kb), label: kb, signal });
      if (status === 'paused') throw error;
    }
  }
}

const header = ['RUN', 'STATUS', 'DOCS', 'UNCHANGED', 'EMPTY', 'FAILED', 'CHUNKS', 'EMBEDDED', 'SKIPPED'];

function rowOf({ job_id: jobId, status, counters }: RunView): string[] {
  const figures = [
    counters.docs_seen,
    counters.docs_unchanged,
    counters.docs_empty,
    counters.docs_error,
    counters.chunks_seen,
    counters.chunks_processed,
    counters.chunks_skipped,
  ];
  return [jobId ?? '-', status, ...figures.map(String)];
}

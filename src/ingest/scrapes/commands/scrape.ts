import { type Command, Option } from 'commander';
import { addClientFlags, type Client, connectClient } from '../../../cli/client/client.ts';
import { follow } from '../../../cli/client/follow.ts';
import { isRefusal, makeIfMissing, parseKb, routeOf } from '../../../cli/client/knowledge-bases.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { CommandFailure, type ExitCode, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { ProgressLine } from '../../../cli/terminal/progress.ts';
import { batchesOf } from '../../../lib/batches.ts';
import { crawlKinds } from '../types.ts';
import type { renderRunWithHandoffs, renderSource, renderSync } from '../views.ts';
import { callLimits, readReferences } from './references.ts';

type SourceView = ReturnType<typeof renderSource>;
type SyncView = ReturnType<typeof renderSync>;
type RunView = ReturnType<typeof renderRunWithHandoffs>;

interface ScrapeFlags {
  file?: string;
  crawl?: string;
  kind?: string;
  every?: number;
  kb?: string;
  wait?: boolean;
  json?: boolean;
}

export function addScrapeCommand(program: Command): void {
  const command = program
    .command('scrape')
    .description(
      'Push references to a scrape source from a file or the standard input, or crawl a source and follow it. ' +
        'Hand-offs go on after it; --wait waits for them. ' +
        'Exit 0: nothing failed, 3: some hand-offs or pages failed, 1: failed.',
    )
    .argument('<source>', 'its name')
    .option('--file <path>', 'references to push: NDJSON or JSON, - for the standard input')
    .option('--crawl <address>', 'make it a crawl that starts here')
    .addOption(new Option('--kind <kind>', 'what is at --crawl (default: website)').choices(crawlKinds))
    .option('--every <hours>', 'with --crawl: crawl again by itself this often', parseHours)
    .option('--kb <name>', 'the knowledge base to hand over to; created if it is missing', parseKb)
    .option('--wait', 'then wait until every hand-off has ended: completed ones can be searched')
    .addHelpText('after', referenceHelp);
  addClientFlags(command).action(async (source: string, flags: ScrapeFlags, self: Command) => {
    checkFlags(flags);
    const client = await connectClient(self);
    process.exitCode = await interruptible((signal) => scrape(client, { source, flags, signal }));
  });
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (text.trim() !== '' && hours >= 1 && hours <= 8_760) return hours;
  throw new UsageError(`--every is ${JSON.stringify(text.slice(0, 40))}. Allowed: 1 to 8760 hours.`);
}

function checkFlags({ file, crawl: url, kind, kb, every }: ScrapeFlags): void {
  if (file !== undefined && url !== undefined) {
    throw new UsageError('References come from --file or are crawled from --crawl, not both.');
  }
  if (url !== undefined && kb === undefined) {
    throw new UsageError('--crawl needs --kb: the knowledge base that pages are handed over to.');
  }
  if (every !== undefined && url === undefined) {
    throw new UsageError('--every is for a source that is crawled; give --crawl too.');
  }
  if (kind !== undefined && url === undefined)
    throw new UsageError('--kind says what is at --crawl; give both.');
}

interface Scrape {
  source: string;
  flags: ScrapeFlags;
  signal: AbortSignal;
}

async function scrape(client: Client, { source, flags, signal }: Scrape): Promise<ExitCode> {
  // A file that cannot be read must leave neither a source nor a knowledge base behind.
  const references = flags.file === undefined ? null : await readReferences(flags.file);
  const { mode, undo } = await prepare(client, { source, flags, signal });
  if (mode === 'crawl') {
    if (flags.file !== undefined) {
      throw new UsageError(`Source ${source} is crawled; nobody can push to it. Leave out --file.`);
    }
    return crawl(client, { source, flags, signal });
  }
  const file = flags.file ?? (process.stdin.isTTY ? null : '-');
  if (file === null) {
    throw new UsageError(`Source ${source} is pushed to. Give references with --file, or pipe them in.`);
  }
  return push(client, { source, flags, signal, undo }, references ?? (await readReferences(file)));
}

const referenceHelp = `
A reference is a JSON object, one per line or in a list:
  {"external_id": "crane",                          your scraper's own id; the same id again changes the reference
   "url": "https://harbour.example.com/crane",      where it was found
   "title": "The crane",                            optional
   "content": "The crane lifts 12 t.",              Markdown, or what "media_type" says: text/plain, text/html
   "metadata": {"page": 3}}                         optional: any JSON object
For example:
  echo '{"external_id": "crane", "url": "https://harbour.example.com/crane", "content": "The crane lifts 12 t."}' |
    sluice scrape harbour --file - --kb harbour`;

interface Prepared extends Pick<SourceView, 'mode'> {
  /** Removes what this command has created; for a push that is refused as a whole. */
  undo: () => Promise<void>;
}

/** The source as it is, made or changed where the flags say so. */
async function prepare(client: Client, { source, flags, signal }: Scrape): Promise<Prepared> {
  const route = `/api/scraping/sources/${encodeURIComponent(source)}`;
  const { kb, crawl: url, kind } = flags;
  const undo = async () => {};
  if (kb === undefined) return { ...(await client.get<SourceView>(route, { signal })), undo };
  const isNewKb = await makeIfMissing(client, { kb, route: routeOf(kb), signal });
  if (url !== undefined) {
    const body = {
      mode: 'crawl',
      kb_id: kb,
      url,
      every_hours: flags.every ?? null,
      ...(kind ? { kind } : {}),
    };
    return { ...(await client.put<SourceView>(route, { body, signal })), undo };
  }
  const before = await client.get<SourceView>(route, { signal }).catch((error: unknown) => {
    if (isRefusal(error, 'scrape_source_not_found')) return null;
    throw error;
  });
  if (before?.mode === 'crawl')
    throw new UsageError(`Source ${source} is crawled. Give its address with --crawl along with --kb.`);
  if (before?.kb_id === kb) return { ...before, undo };
  const made = await client.put<SourceView>(route, { body: { mode: 'push', kb_id: kb }, signal });
  const removeMade = async () => {
    // The source of another knowledge base that was there before gets its own one back.
    if (before === null) await client.delete(route, { signal });
    else await client.put(route, { body: { mode: 'push', kb_id: before.kb_id }, signal });
    if (isNewKb) await client.delete(routeOf(kb), { signal });
    note('Nothing was stored: what this command had created is removed again.');
  };
  return { ...made, undo: removeMade };
}

const pushTimeoutMs = 300_000;

async function push(
  client: Client,
  { source, flags, signal, undo }: Scrape & Pick<Prepared, 'undo'>,
  references: object[],
): Promise<ExitCode> {
  const route = `/api/scraping/${encodeURIComponent(source)}/sync`;
  const progress = new ProgressLine();
  const done: SyncView[] = [];
  let sent = 0;
  try {
    for (const batch of batchesOf(references, callLimits)) {
      const body = { references: batch };
      done.push(await client.post<SyncView>(route, { body, signal, timeoutMs: pushTimeoutMs }));
      sent += batch.length;
      progress.update({ done: sent, total: references.length });
    }
  } catch (error) {
    if (sent === 0 && isRefused(error)) await undo();
    throw error;
  } finally {
    progress.end();
    if (sent < references.length) note(`${sent} of ${references.length} references were sent.`);
  }
  if (flags.json) printJson({ data: done });
  else if (done.length === 0) note('There are no references.');
  else print(table([header, ...done.map(rowOf)]));
  for (const notice of new Set(done.flatMap((one) => one.handoff_notice ?? []))) note(notice);
  const failed = done.reduce((sum, one) => sum + one.handoff_failed_count, 0);
  if (failed > 0)
    note(`${failed} hand-offs failed; GET /api/scraping/${source}/handoffs?status=failed says why.`);
  const runIds = done.map(({ scrape_run_id: runId }) => runId);
  const failedLater = flags.wait ? await untilHandedOver(client, { source, runIds, signal }) : 0;
  return failed + failedLater > 0 ? exitCodes.someRowsFailed : exitCodes.ok;
}

/** Until no hand-off of these runs is open; returns how many have failed. */
async function untilHandedOver(
  client: Client,
  { source, runIds, signal }: { source: string; runIds: readonly string[]; signal: AbortSignal },
): Promise<number> {
  let failed = 0;
  for (const runId of runIds) {
    const route = `/api/scraping/${encodeURIComponent(source)}/runs/${runId}`;
    const run = await follow(() => client.get<RunView>(route, { signal }), { signal, stageOf: openHandoffs });
    failed += run.handoffs?.failed ?? 0;
  }
  if (failed > 0)
    note(`${failed} hand-offs failed; GET /api/scraping/${source}/handoffs?status=failed says why.`);
  return failed;
}

/** Null: the run has none, or all have ended. */
function openHandoffs({ handoffs }: RunView): { done: number; total: number } | null {
  if (handoffs === null) return null;
  const open = handoffs.queued + handoffs.running;
  const done = handoffs.completed + handoffs.failed;
  return open > 0 ? { done, total: done + open } : null;
}

async function crawl(client: Client, { source, flags, signal }: Scrape): Promise<ExitCode> {
  const base = `/api/scraping/${encodeURIComponent(source)}`;
  const started = await client.post<SyncView>(`${base}/sync`, { signal });
  const run = await followCrawl(client, `${base}/runs/${started.scrape_run_id}`, signal);
  if (flags.json) printJson(run);
  else print(table([header, rowOf(run)]));
  if (run.handoff_notice !== null) note(run.handoff_notice);
  if (run.error_text !== null) note(shortText(run.error_text, 500));
  if (run.status === 'failed') return exitCodes.failed;
  const failedLater = flags.wait
    ? await untilHandedOver(client, { source, runIds: [run.scrape_run_id], signal })
    : 0;
  const hasFailed = run.handoff_failed_count + failedLater > 0 || run.pages_failed > 0;
  if (hasFailed) note(`${run.handoff_failed_count} hand-offs and ${run.pages_failed} pages failed.`);
  return hasFailed ? exitCodes.someRowsFailed : exitCodes.ok;
}

/** Until it has ended. */
async function followCrawl(client: Client, route: string, signal: AbortSignal): Promise<RunView> {
  try {
    return await follow(() => client.get<RunView>(route, { signal }), {
      signal,
      stageOf: ({ status, references_persisted: done }) =>
        status === 'running' ? { done, total: null } : null,
    });
  } finally {
    if (signal.aborted) note('The crawl goes on without this command; `sluice jobs` shows it.');
  }
}

const header = ['RUN', 'STATUS', 'PERSISTED', 'NEW', 'CHANGED', 'QUEUED', 'COMPLETED', 'FAILED', 'SKIPPED'];

function rowOf(run: SyncView): string[] {
  const figures = [
    run.references_persisted,
    run.references_created,
    run.references_changed,
    run.handoff_queued_count,
    run.handoff_completed_count,
    run.handoff_failed_count,
    run.handoff_skipped_count,
  ];
  return [run.scrape_run_id, run.status, ...figures.map(String)];
}

/** The server has said no: nothing of the call was stored. After a lost response nobody knows. */
function isRefused(error: unknown): boolean {
  return error instanceof CommandFailure && error.code !== null && !error.isPassing;
}

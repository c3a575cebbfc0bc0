import type { Command } from 'commander';
import type { renderDeadLetter } from '../../kernel/jobs/views.ts';
import { addClientFlags, type Client, connectClient } from '../client/client.ts';
import { maxListed, printList, readPages } from '../client/lists.ts';
import { parseJobId, wholeNumber } from '../terminal/arguments.ts';
import { shortText, shortTime } from '../terminal/cells.ts';
import { exitCodes, UsageError } from '../terminal/exit.ts';
import { note, print, printJson, table } from '../terminal/output.ts';

type DeadLetterView = ReturnType<typeof renderDeadLetter>;

export function addDeadLetterCommand(program: Command): void {
  const dlq = program.command('dlq').description('The dead letters: jobs that failed for good.');
  addList(dlq);
  addStats(dlq);
  addRequeue(dlq);
}

interface ListOptions {
  errorCode?: string;
  pipeline?: string;
  limit: number;
  json?: boolean;
}

function addList(dlq: Command): void {
  const list = dlq
    .command('list')
    .description('List dead letters, newest first.')
    .option('--error-code <code>', 'only with this error')
    .option('--pipeline <name>', 'only of this pipeline')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 50);
  addClientFlags(list).action(async (options: ListOptions, command: Command) => {
    const { errorCode, pipeline, limit, json } = options;
    const client = await connectClient(command);
    const query = { error_code: errorCode, pipeline };
    const page = await readPages<DeadLetterView>(client, '/api/dead-letters', { query, limit });
    printList(page, { json, nothing: 'No dead letter matches.', header: listHeader, row: listRow });
  });
}

const listHeader = ['JOB', 'PIPELINE', 'NAME', 'TRIES', 'DIED', 'ERROR', 'MESSAGE'];

function listRow(letter: DeadLetterView): string[] {
  return [
    letter.job_id,
    shortText(letter.pipeline, 20),
    shortText(letter.name, 36),
    String(letter.retry_count),
    shortTime(letter.finished_at),
    shortText(letter.error_code, 40),
    shortText(letter.error_message, 80),
  ];
}

interface DeadLetterCount {
  error_code: string | null;
  count: number;
  requeued: number;
  oldest_at: string | null;
  newest_at: string | null;
}

function addStats(dlq: Command): void {
  const stats = dlq.command('stats').description('Count dead letters by error.');
  addClientFlags(stats).action(async ({ json }: { json?: boolean }, command: Command) => {
    const client = await connectClient(command);
    const { data } = await client.get<{ data: DeadLetterCount[] }>('/api/stats/dead-letters');
    const header = ['ERROR', 'COUNT', 'REQUEUED', 'OLDEST', 'NEWEST'];
    const row = (line: DeadLetterCount) => [
      shortText(line.error_code, 60),
      String(line.count),
      String(line.requeued),
      shortTime(line.oldest_at),
      shortTime(line.newest_at),
    ];
    printList({ data, has_more: false }, { json, nothing: 'There are no dead letters.', header, row });
  });
}

interface RequeueOptions extends Partial<ListOptions> {
  all?: boolean;
  correlationId?: string;
}

function addRequeue(dlq: Command): void {
  const requeue = dlq
    .command('requeue')
    .description(
      'Create a new job from a dead letter, or from all that match. Exits with 3 when some were skipped.',
    )
    .argument('[job]', 'its id', parseJobId)
    .option('--correlation-id <id>', 'with an id: a new correlation id')
    .option('--all', 'all that match the filters below')
    .option('--error-code <code>', 'with --all: only with this error')
    .option('--pipeline <name>', 'with --all: only of this pipeline')
    .option('--limit <n>', 'with --all: how many at most (100)', parseRequeueLimit);
  addClientFlags(requeue).action(
    async (jobId: string | undefined, options: RequeueOptions, command: Command) => {
      refuseMixedUse(jobId, options);
      const client = await connectClient(command);
      if (jobId === undefined) await requeueAll(client, options);
      else await requeueOne(client, jobId, options);
    },
  );
}

/** The most that the server takes in one request. */
const parseRequeueLimit = wholeNumber('--limit', { min: 1, max: 1_000 });

function refuseMixedUse(jobId: string | undefined, options: RequeueOptions): void {
  const { all, correlationId, errorCode, pipeline, limit } = options;
  if ((jobId === undefined) !== (all === true)) {
    throw new UsageError('`dlq requeue` takes either the id of a dead letter or --all.');
  }
  if (all && correlationId !== undefined) {
    throw new UsageError('--correlation-id is for one dead letter; with --all each job keeps its own.');
  }
  if (!all && (errorCode !== undefined || pipeline !== undefined || limit !== undefined)) {
    throw new UsageError('--error-code, --pipeline and --limit choose among all; use them with --all.');
  }
}

async function requeueOne(client: Client, jobId: string, options: RequeueOptions): Promise<void> {
  const body = options.correlationId === undefined ? {} : { correlation_id: options.correlationId };
  const made = await client.post<DeadLetterView>(`/api/dead-letters/${jobId}/requeue`, { body });
  if (options.json) return printJson(made);
  print(`${made.job_id}  ${made.status}`);
  note(`It is the new job of ${jobId}; \`sluice jobs watch ${made.job_id}\` follows it.`);
}

interface RequeueReport {
  requeued: { job_id: string; requeued_from: string }[];
  skipped: { job_id: string; code: string }[];
}

/** Each one is a separate transaction on the server. */
const requeueAllTimeoutMs = 120_000;

async function requeueAll(client: Client, options: RequeueOptions): Promise<void> {
  const { errorCode, pipeline, limit } = options;
  const body = { error_code: errorCode, pipeline, limit };
  const call = { body, timeoutMs: requeueAllTimeoutMs };
  const { requeued, skipped } = await client.post<RequeueReport>('/api/dead-letters/requeue', call);
  if (options.json) printJson({ requeued, skipped });
  else if (requeued.length + skipped.length > 0) {
    const header = ['DEAD LETTER', 'NEW JOB'];
    const made = requeued.map((one) => [one.requeued_from, one.job_id]);
    print(table([header, ...made, ...skipped.map((one) => [one.job_id, `skipped: ${one.code}`])]));
  }
  note(`${requeued.length} requeued, ${skipped.length} skipped.`);
  if (skipped.length > 0) process.exitCode = exitCodes.someRowsFailed;
}

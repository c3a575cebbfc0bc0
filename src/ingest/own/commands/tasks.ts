import type { Command } from 'commander';
import type { z } from 'zod';
import { addClientFlags, type Client, connectClient } from '../../../cli/client/client.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { pause } from '../../../lib/timing/abort.ts';
import type { taskReply } from '../views.ts';

type TaskView = z.output<typeof taskReply>;

interface JobView {
  jobId: string;
  status: string;
  cleanupOpen: boolean;
  result?: unknown;
  errorCode: string | null;
  errorMessage: string | null;
}

interface RunFlags {
  input: string;
  subject?: string;
  wait?: boolean;
  json?: boolean;
}

const lookEveryMs = 500;

export function addTasksCommand(program: Command): void {
  const tasks = program.command('tasks').description('List and run the pipelines and tasks of your own.');
  const list = tasks.command('list', { isDefault: true }).description('What the server has defined.');
  addClientFlags(list).action(async (flags: { json?: boolean }, self: Command) => {
    const client = await connectClient(self);
    const { data } = await client.get<{ data: TaskView[] }>('/api/tasks');
    if (flags.json) return printJson({ data });
    if (data.length === 0) return note('Nothing is defined; docs/building.md says how.');
    const rows = data.map(({ name, kind, schedule }) => [name, kind, schedule ?? '-']);
    print(table([['NAME', 'KIND', 'SCHEDULE'], ...rows]));
  });
  const run = tasks
    .command('run')
    .description('Dispatch one. Exit 0: dispatched (with --wait: done), 1: failed.')
    .argument('<name>', 'of the pipeline or task')
    .option('--input <json>', 'what it gets', '{}')
    .option('--subject <id>', 'what the job is about: one active job at a time')
    .option('--wait', 'wait for the end, and print the result');
  addClientFlags(run).action(async (name: string, flags: RunFlags, self: Command) => {
    const body = { input: parseInput(flags.input), ...(flags.subject && { subjectId: flags.subject }) };
    const client = await connectClient(self);
    process.exitCode = await interruptible((signal) => dispatchTask(client, { name, body, flags, signal }));
  });
}

function parseInput(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UsageError(`--input is no JSON: ${JSON.stringify(text.slice(0, 100))}`);
  }
}

async function dispatchTask(
  client: Client,
  request: { name: string; body: object; flags: RunFlags; signal: AbortSignal },
): Promise<ExitCode> {
  const { name, body, flags, signal } = request;
  const made = await client.post<{ jobId: string }>(`/api/tasks/${encodeURIComponent(name)}`, { body });
  if (!flags.wait) {
    if (flags.json) printJson(made);
    else print(made.jobId);
    return exitCodes.ok;
  }
  note(`Job ${made.jobId} …`);
  const job = await endOf(client, made.jobId, signal);
  const { status, result = null, errorCode, errorMessage } = job;
  if (flags.json) printJson({ jobId: made.jobId, status, result, errorCode, errorMessage });
  else if (status === 'success') print(JSON.stringify(result, null, 2));
  else note(`The job ended as ${status}: ${shortText(errorMessage ?? '', 500)} (${errorCode ?? status})`);
  return status === 'success' ? exitCodes.ok : exitCodes.failed;
}

async function endOf(client: Client, jobId: string, signal: AbortSignal): Promise<JobView> {
  for (;;) {
    const job = await client.get<JobView>(`/api/jobs/${jobId}`, { signal });
    if (['success', 'dead_letter', 'canceled'].includes(job.status) && !job.cleanupOpen) return job;
    await pause(lookEveryMs, signal);
  }
}

import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { readJson } from '../../../cli/terminal/arguments.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';

interface SourceView {
  source_id: string;
  name: string;
  platform: string;
  place: { kind: string };
  state: string;
  next_pull_at: string | null;
  last_result: { message: string } | null;
  last_error: string | null;
}

const route = '/api/uploads/sources';
const example =
  '{"name": "Shop", "workspace_id": "…", "platform": "meta", "place": {"kind": "url", "url": "https://…"}}';

/** `sluice upload-sources …`: where reports are pulled from on a schedule. */
export function addSourcesCommand(program: Command): void {
  const sources = program
    .command('upload-sources')
    .description('Sources that reports are pulled from on a schedule: URLs, S3, FTP, reporting APIs.');
  addList(sources);
  addCreate(sources);
  addChange(sources);
  addPull(sources);
  addDelete(sources);
}

function addList(sources: Command): void {
  const command = sources.command('list', { isDefault: true }).description('List the sources.');
  addClientFlags(command).action(async (flags: { json?: boolean }, self: Command) => {
    const client = await connectClient(self);
    const { data } = await client.get<{ data: SourceView[] }>(`${route}?limit=500`);
    if (flags.json) return printJson(data);
    if (data.length === 0) note(`There are no sources. sluice upload-sources create '${example}' makes one.`);
    const rows = data.map((source) => [
      source.source_id,
      shortText(source.name, 40),
      source.platform,
      source.place.kind,
      source.state,
      source.next_pull_at ?? 'on request',
      shortText(source.last_error ?? source.last_result?.message ?? '', 100),
    ]);
    print(table([['SOURCE', 'NAME', 'PLATFORM', 'KIND', 'STATE', 'NEXT PULL', 'LAST RESULT'], ...rows]));
  });
}

function addCreate(sources: Command): void {
  const command = sources
    .command('create')
    .description('Create a source. Secrets are named in it, never written into it: PUT /api/secrets/{name}.')
    .argument('<source>', 'as JSON or as @file');
  addClientFlags(command).action(async (text: string, flags: { json?: boolean }, self: Command) => {
    const client = await connectClient(self);
    const saved = await client.post<SourceView>(route, { body: await readSource(text) });
    if (flags.json) printJson(saved);
    else {
      note(`Created ${saved.name}; its first pull is at ${saved.next_pull_at ?? 'your request'}.`);
      print(saved.source_id);
    }
  });
}

function addChange(sources: Command): void {
  const command = sources
    .command('change')
    .description('Change a source: its name, place, schedule, restate_days, or whether it is enabled.')
    .argument('<source>', 'its id', parseId)
    .argument('<changes>', 'as JSON or as @file');
  addClientFlags(command).action(
    async (id: string, text: string, flags: { json?: boolean }, self: Command) => {
      const client = await connectClient(self);
      const saved = await client.patch<SourceView>(`${route}/${id}`, { body: await readSource(text) });
      if (flags.json) printJson(saved);
      else note(`Changed ${saved.name}; its next pull is at ${saved.next_pull_at ?? 'your request'}.`);
    },
  );
}

function addPull(sources: Command): void {
  const command = sources
    .command('pull')
    .description('Pull now. `sluice jobs watch <job>` follows it.')
    .argument('<source>', 'its id', parseId)
    .option('--from <day>', 'other days than the last ones: the first', parseDay)
    .option('--to <day>', 'the last one', parseDay);
  addClientFlags(command).action(
    async (id: string, flags: { json?: boolean; from?: string; to?: string }, self: Command) => {
      const client = await connectClient(self);
      const body = { date_from: flags.from, date_to: flags.to };
      const job = await client.post<{ job_id: string }>(`${route}/${id}/pull`, { body });
      if (flags.json) return printJson(job);
      note('The pull has been queued.');
      print(job.job_id);
    },
  );
}

function addDelete(sources: Command): void {
  const command = sources
    .command('delete')
    .description('Delete a source; its uploads stay.')
    .argument('<source>', 'its id', parseId);
  addClientFlags(command).action(async (id: string, flags: { json?: boolean }, self: Command) => {
    const client = await connectClient(self);
    await client.delete(`${route}/${id}`);
    if (flags.json) printJson({ source_id: id, deleted: true });
    else note('Deleted the source.');
  });
}

async function readSource(text: string): Promise<object> {
  const { value } = await readJson('The source', { text, example });
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(`The source is no JSON object. Allowed: JSON such as '${example}', or @file.`);
}

function parseId(text: string): string {
  if (/^[0-9a-f-]{36}$/i.test(text)) return text;
  throw new UsageError(
    `The source is ${JSON.stringify(text)}. Allowed: an id from sluice upload-sources list.`,
  );
}

function parseDay(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return text;
  throw new UsageError(`The day is ${JSON.stringify(text)}. Allowed: a day such as 2026-03-01.`);
}

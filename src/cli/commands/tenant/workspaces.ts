import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../../client/client.ts';
import { maxListed, printList, readPages } from '../../client/lists.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { shortText, shortTime } from '../../terminal/cells.ts';
import { note, print, printJson } from '../../terminal/output.ts';

interface WorkspaceView {
  workspace_id: string;
  name: string;
  created_at: string;
}

interface JsonOption {
  json?: boolean;
}

export function addWorkspacesCommand(program: Command): void {
  const workspaces = program.command('workspaces').description('The workspaces of a tenant.');
  addList(workspaces);
  addCreate(workspaces);
  addRename(workspaces);
  addDelete(workspaces);
}

function addList(workspaces: Command): void {
  const list = workspaces
    .command('list')
    .description('List workspaces.')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 100);
  addClientFlags(list).action(async ({ json, limit }: JsonOption & { limit: number }, command: Command) => {
    const client = await connectClient(command);
    const page = await readPages<WorkspaceView>(client, '/api/workspaces', { query: {}, limit });
    const header = ['WORKSPACE', 'NAME', 'CREATED'];
    const row = (one: WorkspaceView) => [
      one.workspace_id,
      shortText(one.name, 60),
      shortTime(one.created_at),
    ];
    printList(page, { json, nothing: 'There are no workspaces.', header, row });
  });
}

function addCreate(workspaces: Command): void {
  const create = workspaces
    .command('create')
    .description('Create a workspace and print its id.')
    .argument('<name>', 'its name');
  addClientFlags(create).action(async (name: string, { json }: JsonOption, command: Command) => {
    const made = await (await connectClient(command)).post<WorkspaceView>('/api/workspaces', {
      body: { name },
    });
    if (json) printJson(made);
    else print(made.workspace_id);
  });
}

function addRename(workspaces: Command): void {
  const rename = workspaces
    .command('rename')
    .description('Rename a workspace.')
    .argument('<workspace>', 'its id')
    .argument('<name>', 'its new name');
  addClientFlags(rename).action(async (id: string, name: string, { json }: JsonOption, command: Command) => {
    const client = await connectClient(command);
    const made = await client.patch<WorkspaceView>(pathOf(id), { body: { name } });
    if (json) printJson(made);
    else print(`${made.workspace_id}  ${made.name}`);
  });
}

function addDelete(workspaces: Command): void {
  const remove = workspaces
    .command('delete')
    .description('Delete an empty workspace.')
    .argument('<workspace>', 'its id');
  addClientFlags(remove).action(async (id: string, _options: JsonOption, command: Command) => {
    await (await connectClient(command)).delete(pathOf(id));
    note(`Deleted ${id}.`);
  });
}

function pathOf(workspaceId: string): string {
  return `/api/workspaces/${encodeURIComponent(workspaceId)}`;
}

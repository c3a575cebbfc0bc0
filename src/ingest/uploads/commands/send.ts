import type { Client } from '../../../cli/client/client.ts';
import { readPages } from '../../../cli/client/lists.ts';
import { readJson } from '../../../cli/terminal/arguments.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A parser for a flag or an argument that takes the id of something. */
export function uuidOf(what: string, { hint }: { hint: string }) {
  return (text: string): string => {
    if (uuid.test(text)) return text.toLowerCase();
    throw new UsageError(`${what} is ${JSON.stringify(text)}. Allowed: a whole id; ${hint}.`);
  };
}

interface WorkspaceView {
  workspace_id: string;
  name: string;
}

const maxWorkspacesShown = 20;

/** The only workspace of the tenant. With several it is for the caller to say which. */
export async function findOnlyWorkspace(client: Client): Promise<string> {
  const { data, has_more: hasMore } = await readPages<WorkspaceView>(client, '/api/workspaces', {
    query: {},
    limit: maxWorkspacesShown,
  });
  const [first, second] = data;
  if (first !== undefined && second === undefined) return first.workspace_id;
  if (first === undefined) {
    throw new UsageError(
      'The tenant has no workspace to upload into. Allowed: make one with POST /api/workspaces {"name": …} first.',
    );
  }
  const lines = data.map(({ workspace_id: id, name }) => `  ${id}  ${shortText(name, 60)}`);
  if (hasMore) lines.push('  … and more; GET /api/workspaces lists them all');
  throw new UsageError(
    `There are several workspaces. Allowed: --workspace with one of these.\n${lines.join('\n')}`,
  );
}

const mappingExample = '{"Kosten": "spend", "Notes": null}';

/** Returns the JSON as it was written. */
export async function readMapping(text: string): Promise<string> {
  const { json, value } = await readJson('--mapping', { text, example: mappingExample });
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return json;
  throw new UsageError(`--mapping is no JSON object. Allowed: JSON such as '${mappingExample}', or @file.`);
}

export interface SentUpload {
  upload_id: string;
  status: string;
  /** All that the file became; servers of older versions make one of each file. */
  uploads?: { upload_id: string; filename: string | null }[];
}

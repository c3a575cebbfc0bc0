import { readFile } from 'node:fs/promises';
import type { Client } from '../../../cli/client/client.ts';
import { readPages } from '../../../cli/client/lists.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';
import { messageOf } from '../../../lib/errors.ts';

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

const maxMappingBytes = 256 * 1024;
const mappingAllowed = `Allowed: JSON such as '{"Kosten": "spend", "Notes": null}', or @file`;

/** `{"Kosten": "spend"}`, or `@mapping.json` for a file that holds it. Answers the JSON as it was written. */
export async function readMapping(text: string): Promise<string> {
  const isFile = text.startsWith('@');
  const where = isFile ? text.slice(1) : '--mapping';
  const json = isFile ? await readMappingFile(where) : text;
  if (Buffer.byteLength(json) > maxMappingBytes) {
    throw new UsageError(`The mapping in ${where} is too long. Allowed: at most ${maxMappingBytes} bytes.`);
  }
  let mapping: unknown;
  try {
    mapping = JSON.parse(json);
  } catch (error) {
    throw new UsageError(`${where} is no JSON: ${messageOf(error)}. ${mappingAllowed}.`);
  }
  if (typeof mapping === 'object' && mapping !== null && !Array.isArray(mapping)) return json;
  throw new UsageError(`${where} is no JSON object. ${mappingAllowed}.`);
}

async function readMappingFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`The mapping in ${file} cannot be read: ${messageOf(error)}. ${mappingAllowed}.`);
  }
}

export interface SentUpload {
  upload_id: string;
  status: string;
}

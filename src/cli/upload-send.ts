import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { messageOf } from '../lib/errors.ts';
import { shortText } from './cells.ts';
import type { Client } from './client.ts';
import { CommandFailure, exitCodes, UsageError } from './exit.ts';
import { encodeForm } from './items-form.ts';
import type { RowFile } from './items-import.ts';
import { readPages } from './lists.ts';
import { ProgressLine } from './progress.ts';

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

/** Sends one report and answers what the server says: the upload that was made of it. */
export async function sendReport(
  client: Client,
  file: RowFile,
  { fields, signal }: { fields: Record<string, string>; signal: AbortSignal },
): Promise<SentUpload> {
  const progress = new ProgressLine({ unit: 'bytes' });
  const reading: { failure?: CommandFailure } = {};
  async function* counted(): AsyncGenerator<Uint8Array> {
    let done = 0;
    try {
      // A read from a terminal or a pipe that never ends would keep an interrupted command alive.
      const bytes: AsyncIterable<Uint8Array> = addAbortSignal(signal, await file.open());
      for await (const chunk of bytes) {
        yield chunk;
        done += chunk.length;
        progress.update({ done, total: file.sizeBytes });
      }
    } catch (error) {
      reading.failure = unreadable(file, error);
      throw error;
    }
  }
  try {
    const form = encodeForm({ fields, fileName: file.name, content: counted() });
    return await client.upload<SentUpload>('/api/uploads', { ...form, signal });
  } catch (error) {
    // What the connection says of a body that broke off is only the echo of it.
    throw reading.failure ?? error;
  } finally {
    progress.end();
  }
}

function unreadable({ label }: RowFile, cause: unknown): CommandFailure {
  return new CommandFailure(`${shortText(label, 200)} cannot be read to its end: ${messageOf(cause)}.`, {
    exitCode: exitCodes.failed,
    next: 'Nothing of it was kept. Mend the file and upload it again.',
    cause,
  });
}

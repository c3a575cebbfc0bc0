import { ApiProblem } from '../../api/client.ts';
import { bytes } from '../../parts/number.ts';
import type { Platform } from './platforms.ts';

export interface NewUpload {
  file: File;
  platform: Platform;
  workspaceId: string;
  clientId: string;
}

export function isSameUpload(a: NewUpload, b: NewUpload): boolean {
  return (Object.keys(a) as (keyof NewUpload)[]).every((name) => a[name] === b[name]);
}

interface Sending {
  onProgress: (sentBytes: number) => void;
  signal: AbortSignal;
  /** The same for every try of one upload, so that a try whose answer was lost makes no second one. */
  idempotencyKey: string;
}

/** By XMLHttpRequest, because fetch does not tell how much was sent. It is held for review: people look first. */
export function sendUpload(upload: NewUpload, sending: Sending): Promise<{ upload_id: string }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/api/uploads');
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('idempotency-key', sending.idempotencyKey);
    request.upload.onprogress = (event) => sending.onProgress(event.loaded);
    request.onload = () => {
      const answer = answerOf(request.responseText);
      if (request.status === 201) resolve(answer as { upload_id: string });
      else reject(new ApiProblem(request.status, answer));
    };
    request.onerror = () => reject(brokenOff());
    request.onabort = () => reject(new DOMException('The upload was stopped', 'AbortError'));
    sending.signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(formOf(upload));
  });
}

/** The fields go before the file, so that whatever is wrong with them is known before all bytes are sent. */
function formOf({ file, platform, workspaceId, clientId }: NewUpload): FormData {
  const form = new FormData();
  form.set('workspace_id', workspaceId);
  if (clientId !== '') form.set('client_id', clientId);
  form.set('platform', platform);
  form.set('source', 'manual');
  form.set('review', 'true');
  form.set('file', file, file.name);
  return form;
}

function answerOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { detail: text.slice(0, 300) };
  }
}

function brokenOff(): ApiProblem {
  return new ApiProblem(0, {
    code: 'unreachable',
    title: 'The upload was broken off',
    detail:
      'The server cannot be reached, or broke the upload off because the file is larger than it takes (50 MB unless ' +
      'it is set otherwise). Nothing was stored; try again.',
  });
}

export type UploadField = 'file' | 'platform' | 'workspace_id' | 'client_id';

const fieldOfCode: Record<string, UploadField> = {
  upload_empty: 'file',
  upload_file_missing: 'file',
  report_too_large: 'file',
  body_too_large: 'file',
  upload_not_text: 'file',
  workspace_unknown: 'workspace_id',
};

/** Which fields a refusal is about, with what it says about each; empty when it is about none of them. */
export function refusalsOf(error: unknown): Partial<Record<UploadField, string>> {
  if (!(error instanceof ApiProblem)) return {};
  const pointed: Partial<Record<UploadField, string>> = {};
  for (const { pointer, message } of error.errors) {
    const name = pointer.replace(/^\//, '');
    if (name === 'filename') pointed.file = message;
    if (isField(name)) pointed[name] = message;
  }
  const field = fieldOfCode[error.code];
  if (field !== undefined) pointed[field] ??= [said(error), whatToDo[error.code]].filter(Boolean).join('. ');
  return pointed;
}

/** Bytes to the last digit are for programs. */
function said({ code, detail, document }: ApiProblem): string {
  const most = document.max_bytes;
  if (code !== 'report_too_large' || typeof most !== 'number') return detail.replace(/\.$/, '');
  return `The file is larger than ${bytes(most)}, the most allowed`;
}

const whatToDo: Record<string, string> = {
  upload_empty: 'Export the report again: an empty file is usually an export that failed',
  report_too_large: 'Split the report by date or campaign and upload the parts',
  upload_not_text: 'Export the report as CSV or JSON, uncompressed',
};

function isField(name: string): name is UploadField {
  return ['file', 'platform', 'workspace_id', 'client_id'].includes(name);
}

import { ApiProblem } from '../../api/client.ts';
import { type Sending, sendForm } from '../../api/send-form.ts';
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

/** A ZIP archive becomes an upload for each report in it. */
export interface SentUploads {
  upload_id: string;
  uploads: { upload_id: string; filename: string | null }[];
}

/** It is held for review: people look first. */
export function sendUpload(upload: NewUpload, sending: Sending): Promise<SentUploads> {
  const brokenOff =
    'The server cannot be reached, or ended the upload because the file is larger than allowed (50 MB unless ' +
    'it is set otherwise). Nothing was stored; try again.';
  return sendForm({ path: '/api/uploads', form: formOf(upload), brokenOff }, sending);
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

export type UploadField = 'file' | 'platform' | 'workspace_id' | 'client_id';

const fieldOfCode: Record<string, UploadField> = {
  upload_empty: 'file',
  upload_file_missing: 'file',
  report_too_large: 'file',
  body_too_large: 'file',
  upload_not_text: 'file',
  archive_empty: 'file',
  archive_too_many_reports: 'file',
  archive_nested: 'file',
  archive_unsafe_path: 'file',
  archive_broken: 'file',
  archive_encrypted: 'file',
  archive_unfolds_too_far: 'file',
  malformed_workbook: 'file',
  formula_not_calculated: 'file',
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
  // These have words for people here, where `errors` has words for programs.
  if (field !== undefined) pointed[field] = [said(error), whatToDo[error.code]].filter(Boolean).join('. ');
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
  upload_not_text: 'Export the report as CSV, XLSX or JSON',
  archive_nested: 'Unpack the inner archive and upload its reports',
  archive_encrypted: 'Save the file without a password and upload that',
};

function isField(name: string): name is UploadField {
  return ['file', 'platform', 'workspace_id', 'client_id'].includes(name);
}

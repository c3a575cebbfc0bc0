import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { addClientFlags, type Client, connectClient } from '../../../cli/client/client.ts';
import { findTarget, saveDownload } from '../../../cli/client/download.ts';
import { type LocalFile, openLocalFiles, sendFile } from '../../../cli/client/send-file.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { shortBytes } from '../../../cli/terminal/progress.ts';
import { platforms } from '../reports/types.ts';
import { uploadSources } from '../types.ts';
import type { UndoReport } from '../undo/undo.ts';
import { describeUpload, exitCodeOfUpload, followUpload, type UploadView } from './follow.ts';
import { findOnlyWorkspace, readMapping, type SentUpload, uuidOf } from './send.ts';

interface UploadFlags {
  platform?: string;
  workspace?: string;
  client?: string;
  source: string;
  forcePartial?: boolean;
  review?: boolean;
  mapping?: string;
  dateFrom?: string;
  dateTo?: string;
  wait: boolean;
  json?: boolean;
}

export function addUploadCommand(program: Command): void {
  const upload = program
    .command('upload')
    .description('Upload ad reports: `sluice upload FILE… --platform NAME`.');
  // The flags are not those of `upload` itself: commander would take them away from `rejected` and `undo`.
  addSend(upload);
  addRejected(upload);
  addUndo(upload);
}

function addSend(upload: Command): void {
  const command = upload
    .command('send', { isDefault: true })
    .description(
      'Send reports and follow them into production; the word may be left out. Exit 0: completed, 3: some rows ' +
        'were refused, 1: failed.',
    )
    .argument('<file...>', 'reports in CSV, JSON or XLSX, or gzip or ZIP files of some; - is stdin')
    .option('--platform <name>', `where the report comes from: ${platforms.join(', ')}, or one of your own`)
    .option(
      '--workspace <id>',
      'where it goes; may be left out when there is only one',
      uuidOf('--workspace', { hint: 'GET /api/workspaces lists them' }),
    )
    .option('--client <id>', 'whose figures they are', uuidOf('--client', { hint: 'it is a UUID' }))
    .addOption(
      new Option('--source <source>', 'how it came here').choices([...uploadSources]).default('manual'),
    )
    .option('--force-partial', 'promote the valid rows, however many are refused')
    .option('--review', 'hold it before promotion, for a person to look at')
    .option('--date-from <day>', 'the first day of a report that names no days, for example 2026-03-01')
    .option('--date-to <day>', 'its last day')
    .option('--mapping <json>', 'header to field, as JSON or as @file; null leaves a column out')
    .option('--no-wait', 'do not follow it, only print its id');
  addClientFlags(command).action(async (names: string[], flags: UploadFlags, self: Command) => {
    const files = await openLocalFiles(names);
    const fixed = await fieldsOf(flags);
    const client = await connectClient(self);
    process.exitCode = await interruptible(async (signal) => {
      const workspace = flags.workspace ?? (await findOnlyWorkspace(client));
      const fields = { workspace_id: workspace, ...fixed };
      return uploadAll(client, { files, fields, flags, signal });
    });
  });
}

async function fieldsOf(flags: UploadFlags): Promise<Record<string, string>> {
  const { platform, source, client, mapping } = flags;
  if (platform === undefined) {
    throw new UsageError(
      `--platform is missing. Allowed: one of ${platforms.join(', ')}, or a platform of your own.`,
    );
  }
  if (!/^[a-z][a-z0-9_-]{1,39}$/.test(platform)) {
    throw new UsageError(
      `--platform is ${JSON.stringify(platform)}. Allowed: one of ${platforms.join(', ')}, or a platform of your own.`,
    );
  }
  return {
    platform,
    source,
    ...(client === undefined ? {} : { client_id: client }),
    ...(flags.forcePartial ? { force_partial: 'true' } : {}),
    ...(flags.review ? { review: 'true' } : {}),
    ...(flags.dateFrom === undefined ? {} : { date_from: flags.dateFrom }),
    ...(flags.dateTo === undefined ? {} : { date_to: flags.dateTo }),
    ...(mapping === undefined ? {} : { mapping: await readMapping(mapping) }),
  };
}

interface UploadRun {
  files: LocalFile[];
  fields: Record<string, string>;
  flags: UploadFlags;
  signal: AbortSignal;
}

interface Sent extends Pick<SentUpload, 'upload_id' | 'status'> {
  label: string;
}

/** All are sent before the first is followed: the server works on several at once. */
async function uploadAll(client: Client, run: UploadRun): Promise<ExitCode> {
  const { files, fields, flags, signal } = run;
  const sent: Sent[] = [];
  let sentFiles = 0;
  try {
    for (const file of files) {
      const made = await sendFile<SentUpload>(client, file, { route: '/api/uploads', fields, signal });
      const reports = reportsOf(made, file.label);
      sent.push(...reports);
      sentFiles += 1;
      if (!flags.wait && flags.json) print(JSON.stringify(made));
      else if (!flags.wait) for (const { upload_id: id } of reports) print(id);
    }
  } catch (error) {
    noteSplit(files, { sent, sentFiles });
    throw error;
  }
  return flags.wait ? followAll(client, { sent, flags, signal }) : exitCodes.ok;
}

/** Each report of an archive is an upload of its own. */
function reportsOf(made: SentUpload, label: string): Sent[] {
  const { uploads = [], status } = made;
  if (uploads.length < 2) return [{ ...made, label }];
  return uploads.map(({ upload_id: id, filename }) => ({
    upload_id: id,
    status,
    label: `${label}: ${filename ?? id}`,
  }));
}

/** Those that are in go on without this command, and nobody has been told their ids yet. */
function noteSplit(files: LocalFile[], { sent, sentFiles }: { sent: Sent[]; sentFiles: number }): void {
  if (files.length < 2) return;
  for (const { label, upload_id: id } of sent) note(`Uploaded: ${shortText(label, 200)} as ${id}`);
  const left = files.slice(sentFiles).map(({ label }) => shortText(label, 200));
  note(`Not uploaded: ${left.join(', ')}`);
}

async function followAll(
  client: Client,
  { sent, flags, signal }: { sent: Sent[]; flags: UploadFlags; signal: AbortSignal },
): Promise<ExitCode> {
  const ended: UploadView[] = [];
  try {
    for (const { upload_id: uploadId, label } of sent) {
      const upload = await followUpload(client, { uploadId, label, signal });
      ended.push(upload);
      if (flags.json) print(JSON.stringify(upload));
    }
  } finally {
    if (!flags.json && ended.length > 0) print(table([header, ...ended.map(rowOf)]));
    for (const upload of ended) for (const line of describeUpload(upload)) note(line);
    for (const { upload_id: id } of sent.slice(ended.length)) {
      note(`Upload ${id} goes on without this command; GET /api/uploads/${id} tells how it ends.`);
    }
  }
  const codes = ended.map(exitCodeOfUpload);
  const worst = [exitCodes.failed, exitCodes.someRowsFailed].find((code) => codes.includes(code));
  return worst ?? exitCodes.ok;
}

const header = ['UPLOAD', 'STATUS', 'ROWS', 'PROMOTED', 'INVALID', 'FAILED', 'FILE'];

function rowOf(upload: UploadView): string[] {
  const counts = [upload.total_rows, upload.promoted_rows, upload.invalid_rows, upload.failed_rows];
  return [upload.upload_id, upload.status, ...counts.map(String), shortText(upload.filename, 60)];
}

const parseUploadId = uuidOf('The upload', { hint: '`sluice upload` printed it' });

function addRejected(upload: Command): void {
  const command = upload
    .command('rejected')
    .description('Download the rows that were refused, with their reasons. Corrected, they can be uploaded.')
    .argument('<upload>', 'its id', parseUploadId)
    .option('-o, --output <file>', 'where to; it appears under this name when it is complete');
  addClientFlags(command).action(
    async (uploadId: string, { output: file, json }: { output?: string; json?: boolean }, self: Command) => {
      if (json && file === undefined) {
        throw new UsageError('--json tells of a file that was written. Allowed: with -o FILE.');
      }
      const client = await connectClient(self);
      process.exitCode = await interruptible(async (signal) => {
        const target = file === undefined ? null : await findTarget(file);
        const wanted = { method: 'GET', query: {}, mediaType: 'text/csv', signal } as const;
        const chunks = await client.download(`/api/uploads/${uploadId}/rejected.csv`, wanted);
        const sizeBytes = await saveDownload(chunks, { target, isSilent: false, signal });
        if (json) printJson({ upload_id: uploadId, file, size_bytes: sizeBytes });
        else if (file !== undefined) note(`Wrote ${file}, ${shortBytes(sizeBytes)}.`);
        return exitCodes.ok;
      });
    },
  );
}

type UndoView = UndoReport & { upload: UploadView };

/** Metrics are deleted in pieces, and the answer comes after the last. */
const undoTimeoutMs = 600_000;

function addUndo(upload: Command): void {
  const command = upload
    .command('undo')
    .description('Undo an upload: delete what it created and no other upload uses. Asks before it does.')
    .argument('<upload>', 'its id', parseUploadId)
    .option('--yes', 'do not ask');
  addClientFlags(command).action(
    async (uploadId: string, flags: { yes?: boolean; json?: boolean }, self: Command) => {
      if (!flags.yes && process.stdin.isTTY !== true) {
        throw new UsageError('Nobody can be asked here, since stdin is no terminal. Allowed: with --yes.');
      }
      const client = await connectClient(self);
      process.exitCode = await interruptible((signal) => undo(client, { uploadId, flags, signal }));
    },
  );
}

async function undo(
  client: Client,
  run: { uploadId: string; flags: { yes?: boolean; json?: boolean }; signal: AbortSignal },
): Promise<ExitCode> {
  const { uploadId, flags, signal } = run;
  const route = `/api/uploads/${uploadId}`;
  if (!flags.yes) {
    const upload = await client.get<UploadView>(route, { signal });
    const streams = { input: process.stdin, output: process.stderr, signal };
    if (!(await confirm(`Undo ${describeForUndo(upload)}? [y/N] `, streams))) {
      note('Nothing was undone.');
      return exitCodes.failed;
    }
  }
  const report = await client.post<UndoView>(`${route}/undo`, { timeoutMs: undoTimeoutMs, signal });
  if (flags.json) printJson(report);
  else print(table([['', 'DELETED', 'LEFT'], ...undoRows(report)]));
  if (Object.values(report.not_undone).some((count) => count > 0)) {
    note('Left are rows that were there before the upload, or that a later upload touched.');
  }
  return exitCodes.ok;
}

function describeForUndo(upload: UploadView): string {
  const rows = upload.promoted_rows.toLocaleString('en-US');
  return `upload ${upload.upload_id} (${shortText(upload.filename, 60)}, ${rows} rows promoted)`;
}

function undoRows({ deleted, not_undone: left }: UndoView): string[][] {
  const names = ['campaigns', 'ad_sets', 'ads', 'daily_metrics'] as const;
  return names.map((name) => [name, String(deleted[name]), String(left[name])]);
}

/** Only a clear yes is one; the end of the input is none. */
export async function confirm(
  question: string,
  {
    signal,
    ...streams
  }: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream; signal: AbortSignal },
): Promise<boolean> {
  // Not as a terminal of its own: Ctrl+C has to reach the process.
  const lines = createInterface({ ...streams, terminal: false });
  try {
    const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    const answer = await Promise.race([lines.question(question, { signal }), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

import type { Command } from 'commander';
import { addClientFlags, type Client, connectClient } from '../../../cli/client/client.ts';
import { defaultMaxOutageMs, Outage } from '../../../cli/client/event-stream.ts';
import { wholeNumber } from '../../../cli/terminal/arguments.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { pause } from '../../../lib/timing/abort.ts';
import type { renderScan } from '../views.ts';

type ScanView = ReturnType<typeof renderScan>;

interface ScanFlags {
  watch?: boolean;
  every: number;
  json?: boolean;
}

export function addScanCommand(program: Command): void {
  const command = program
    .command('scan')
    .description(
      'Look through an adapter for files now, or through all adapters: a folder, an S3 prefix, an FTP directory. ' +
        'Exit 0: all is well, 3: some files failed, 1: a place could not be looked through.',
    )
    .argument('[adapter]', 'its name; without it all')
    .option('--watch', 'look again and again until Ctrl+C')
    .option('--every <seconds>', 'between two looks', wholeNumber('--every', { min: 1, max: 86_400 }), 10);
  addClientFlags(command).action(async (adapter: string | undefined, flags: ScanFlags, self: Command) => {
    const client = await connectClient(self);
    process.exitCode = await interruptible((signal) =>
      flags.watch ? watch(client, { adapter, flags, signal }) : once(client, { adapter, flags, signal }),
    );
  });
}

interface Scan {
  adapter: string | undefined;
  flags: ScanFlags;
  signal: AbortSignal;
}

const timeoutMs = 600_000;

async function look(client: Client, { adapter, signal }: Scan): Promise<ScanView[]> {
  const body = adapter === undefined ? {} : { adapter };
  const { data } = await client.post<{ data: ScanView[] }>('/api/ingestion/scan', {
    body,
    signal,
    timeoutMs,
  });
  return data;
}

async function once(client: Client, scan: Scan): Promise<ExitCode> {
  const reports = await look(client, scan);
  if (scan.flags.json) printJson({ data: reports });
  else if (reports.length === 0) note('There are no adapters. PUT /api/ingestion/adapters/{name} makes one.');
  else print(table([header, ...reports.map(rowOf)]));
  reports.forEach(explain);
  const waiting = reports.reduce((sum, { waiting: files }) => sum + files, 0);
  if (waiting > 0) note(`${waiting} files wait until they rest; scan again in a moment, or use --watch.`);
  if (reports.some(({ error }) => error !== null)) return exitCodes.failed;
  return reports.some(({ failed }) => failed > 0) ? exitCodes.someRowsFailed : exitCodes.ok;
}

/** Prints a line for each look that has found something, and for each error that was not there before. */
async function watch(client: Client, scan: Scan): Promise<ExitCode> {
  const outage = new Outage(defaultMaxOutageMs, note);
  const lastError = new Map<string, string | null>();
  if (!scan.flags.json) print(table([header]));
  for (;;) {
    const reports = await outage.bridge(() => look(client, scan), scan.signal);
    for (const report of reports ?? []) {
      const isNews = report.ingested + report.failed + report.duplicates + report.moved > 0;
      if (isNews && scan.flags.json) printJson(report);
      else if (isNews) print(table([rowOf(report)]));
      const wasKnown = lastError.get(report.adapter) === report.error;
      lastError.set(report.adapter, report.error);
      if (isNews || !wasKnown) explain(report);
    }
    await pause(reports === null ? outage.nextPauseMs() : scan.flags.every * 1000, scan.signal);
    scan.signal.throwIfAborted();
  }
}

function explain(report: ScanView): void {
  const { adapter, files, error, error_code: code } = report;
  if (report.busy) note(`${adapter}: another scan is at work on it (${report.scanning_by ?? 'somewhere'}).`);
  if (error !== null) note(`${adapter}: ${shortText(error, 500)} (${code})`);
  for (const file of files) {
    if (file.outcome !== 'failed' && file.outcome !== 'not_moved') continue;
    note(`${adapter}: ${shortText(file.path, 200)}: ${shortText(file.reason ?? 'failed', 500)}`);
  }
}

const header = ['ADAPTER', 'SEEN', 'INGESTED', 'DUPLICATES', 'WAITING', 'FAILED', 'MOVED'];

function rowOf({ adapter, seen, ingested, duplicates, waiting, failed, moved }: ScanView): string[] {
  return [adapter, ...[seen, ingested, duplicates, waiting, failed, moved].map(String)];
}

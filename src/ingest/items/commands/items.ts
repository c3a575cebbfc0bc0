import { type Command, Option } from 'commander';
import { addClientFlags, type Client, connectClient } from '../../../cli/client/client.ts';
import { type LocalFile, openLocalFiles, sendFile } from '../../../cli/client/send-file.ts';
import { parseJobId, readJson } from '../../../cli/terminal/arguments.ts';
import { type ExitCode, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson } from '../../../cli/terminal/output.ts';
import { shortBytes } from '../../../cli/terminal/progress.ts';
import { chooseFormat, type ExportFormat, exportFormats, exportItems, refuseTerminal } from './export.ts';
import { addFixing } from './fixing.ts';
import { addList } from './list.ts';
import { addTemplates } from './templates.ts';
import { describeEnd, exitCodeOfItems, type ItemJobView, watchItems } from './watch.ts';

export function addItemsCommand(program: Command): void {
  const items = program
    .command('items')
    .description('Import files of rows, and list, follow and export what becomes of them.');
  addImport(items);
  addList(items);
  addWatch(items);
  addReprocess(items);
  addExport(items);
  addFixing(items);
  addTemplates(items);
}

interface CommonOptions {
  json?: boolean;
  quiet?: boolean;
}

interface ImportFlags extends CommonOptions {
  template?: string;
  processor?: string;
  options?: string;
  sheet?: string;
  strict?: boolean;
  encoding?: string;
  headerLine?: string;
  mapping?: string;
  watch?: boolean;
}

function addImport(items: Command): void {
  const command = items
    .command('import')
    .description(
      'Make a job of each file of rows and print its id. Ctrl+C leaves nothing of a file that is not all in.',
    )
    .argument('<file...>', 'XLSX, CSV, TSV, JSON or NDJSON, an image or a ZIP of images; - is stdin')
    .option(
      '--processor <name>',
      'what happens to each row: noop (the default), validate, http, catalog, image (for images) or one of your own',
    )
    .option('--options <json>', 'the options of the processor, as JSON or as @file')
    .option('--template <name>', 'a saved template: its processor, options and mapping, unless given here')
    .option('--sheet <name>', 'of a workbook: the name of the sheet or its number, not the first visible one')
    .option('--strict', 'refuse a file that is not well-formed, instead of repairing it with notes')
    .option('--encoding <name>', 'of a text file: utf-8, utf-16le, utf-16be, windows-1252 or iso-8859-1')
    .option('--header-line <number>', 'the line of the header, if it is not found')
    .option('--mapping <json>', 'new names of columns, as JSON or as @file; null leaves a column out')
    .option('--watch', 'then follow the jobs until they have ended, as `items watch` does')
    .option('--quiet', 'show no progress');
  addClientFlags(command).action(async (names: string[], flags: ImportFlags, self: Command) => {
    const files = await openLocalFiles(names);
    const fields = await fieldsOf(flags);
    const client = await connectClient(self);
    process.exitCode = await interruptible((signal) => importAll(client, { files, fields, flags, signal }));
  });
}

async function fieldsOf(flags: ImportFlags): Promise<Record<string, string>> {
  const { template, processor, sheet, encoding, headerLine } = flags;
  const given: Record<string, string | undefined> = { template, processor, sheet, encoding, headerLine };
  if (flags.strict) given.strict = 'true';
  if (flags.options !== undefined) {
    given.options = (await readJson('--options', { text: flags.options, example: '{"rules": []}' })).json;
  }
  if (flags.mapping !== undefined) {
    given.mapping = (
      await readJson('--mapping', { text: flags.mapping, example: '{"Article": "sku"}' })
    ).json;
  }
  return Object.fromEntries(Object.entries(given).filter((field) => field[1] !== undefined)) as Record<
    string,
    string
  >;
}

interface Made {
  jobId: string;
  notes?: { message: string; count: number; places: { line: number | null; what: string }[] }[];
}

/** What was repaired goes to stderr: stdout has only the id. */
function describeNotes({ notes = [] }: Made): string[] {
  return notes.map(({ message, count, places }) => {
    const [first] = places;
    const where = first
      ? ` (line ${first.line ?? '–'}: ${first.what}${count > 1 ? `, and ${count - 1} more` : ''})`
      : '';
    return `Note: ${message}${where}`;
  });
}

async function importAll(
  client: Client,
  run: { files: LocalFile[]; fields: Record<string, string>; flags: ImportFlags; signal: AbortSignal },
): Promise<ExitCode> {
  const { files, fields, flags, signal } = run;
  const jobIds: string[] = [];
  try {
    for (const file of files) {
      const made = await sendFile<Made>(client, file, {
        route: '/api/jobs',
        fields,
        isSilent: flags.quiet === true,
        signal,
      });
      jobIds.push(made.jobId);
      print(flags.json ? JSON.stringify(made) : made.jobId);
      for (const line of describeNotes(made)) note(line);
    }
  } catch (error) {
    const left = files.slice(jobIds.length).map(({ label }) => label);
    if (files.length > 1) note(`Not imported: ${left.join(', ')}`);
    throw error;
  }
  return flags.watch ? watchAll(client, { jobIds, flags, signal }) : exitCodes.ok;
}

/** One after the other: they run side by side, so the last is not far when the first has ended. */
async function watchAll(
  client: Client,
  { jobIds, flags, signal }: { jobIds: string[]; flags: CommonOptions; signal: AbortSignal },
): Promise<ExitCode> {
  const codes: ExitCode[] = [];
  for (const jobId of jobIds) {
    const job = await watchItems(client, { jobId, isSilent: flags.quiet === true, signal });
    if (flags.json) print(JSON.stringify(job));
    note(describeEnd(job));
    codes.push(exitCodeOfItems(job));
  }
  const worst = [exitCodes.failed, exitCodes.someRowsFailed].find((code) => codes.includes(code));
  return worst ?? exitCodes.ok;
}

function addWatch(items: Command): void {
  const command = items
    .command('watch')
    .description(
      'Follow a job until it has ended. Exit 0: all rows are done, 3: some failed, 1: the job failed.',
    )
    .argument('<job>', 'its id', parseJobId)
    .option('--quiet', 'show no progress');
  addClientFlags(command).action(async (jobId: string, flags: CommonOptions, self: Command) => {
    const client = await connectClient(self);
    process.exitCode = await interruptible((signal) => watchAll(client, { jobIds: [jobId], flags, signal }));
  });
}

const reprocessable = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED'];
const maxItems = 10_000;
/** A million rows are reset in batches, and the answer comes after the last. */
const reprocessTimeoutMs = 600_000;

function addReprocess(items: Command): void {
  const command = items
    .command('reprocess')
    .description('Process rows of a job again: those that failed, or chosen ones.')
    .argument('<job>', 'its id', parseJobId)
    .option('--status <list>', 'rows of these statuses, separated by commas', parseStatuses, [
      'ERROR',
      'NOT_FOUND',
    ])
    .option('--item <id...>', 'only these rows, by the ids that the grid shows', collectItemId)
    .option('--reason <code>', 'only rows that failed for this reason, as `items failures` names it')
    .option('--reset-attempts', 'also rows that have used up their attempts');
  addClientFlags(command).action(
    async (
      jobId: string,
      flags: CommonOptions & { status: string[]; item?: string[]; reason?: string; resetAttempts?: boolean },
      self: Command,
    ) => {
      const client = await connectClient(self);
      const scope = flags.item ? { scope: 'items', itemIds: flags.item } : { scope: 'job' };
      const reason = flags.reason === undefined ? {} : { errorCode: flags.reason };
      const body = {
        ...scope,
        ...reason,
        statuses: flags.status,
        resetAttempts: flags.resetAttempts === true,
      };
      const route = `/api/jobs/${jobId}/reprocess`;
      const report = await client.post<Reprocessed>(route, { body, timeoutMs: reprocessTimeoutMs });
      if (flags.json) return printJson(report);
      print(`${report.reset} reset, ${report.exhausted} exhausted`);
      if (report.exhausted > 0)
        note('Exhausted rows have used up their attempts; --reset-attempts takes them too.');
    },
  );
}

type Reprocessed = ItemJobView & { reset: number; exhausted: number };

function parseStatuses(text: string): string[] {
  const statuses = text.split(',').map((status) => status.trim().toUpperCase());
  if (statuses.every((status) => reprocessable.includes(status))) return [...new Set(statuses)];
  throw new UsageError(`--status is "${text}". Allowed: one or more of ${reprocessable.join(',')}.`);
}

function collectItemId(text: string, before: string[] = []): string[] {
  if (!/^\d{1,18}$/.test(text))
    throw new UsageError(`--item is "${text}". Allowed: the id of a row, a number.`);
  if (before.length < maxItems) return [...before, text];
  throw new UsageError(`There are more than ${maxItems} --item. Allowed: fewer at a time.`);
}

interface ExportFlags extends CommonOptions {
  format?: ExportFormat;
  input?: boolean;
  reasons?: boolean;
  column?: string[];
  output?: string;
}

function addExport(items: Command): void {
  const command = items
    .command('export')
    .description('Write the rows of a job with their results as a file, or to stdout.')
    .argument('<job>', 'its id', parseJobId)
    .addOption(
      new Option('--format <format>', 'default: by the name of the file, else csv').choices(exportFormats),
    )
    .option('--input', 'also the columns of the file, as input.NAME')
    .option('--reasons', 'also why rows failed: error_code and last_error')
    .option('--column <name...>', 'only these columns, in this order')
    .option('-o, --output <file>', 'where to; it appears under this name when it is complete')
    .option('--quiet', 'show no progress');
  addClientFlags(command).action(async (jobId: string, flags: ExportFlags, self: Command) => {
    const { output: file } = flags;
    const format = chooseFormat({ format: flags.format, file });
    if (file === undefined) {
      if (flags.json) throw new UsageError('--json tells of a file that was written. Allowed: with -o FILE.');
      refuseTerminal(format, process.stdout);
    }
    const client = await connectClient(self);
    process.exitCode = await interruptible(async (signal) => {
      const isSilent = flags.quiet === true;
      const wish = { input: flags.input === true, reasons: flags.reasons === true, columns: flags.column };
      const sizeBytes = await exportItems(client, { jobId, format, ...wish, file, isSilent, signal });
      if (flags.json) printJson({ jobId, format, file, sizeBytes });
      else if (file !== undefined) note(`Wrote ${file}, ${shortBytes(sizeBytes)}.`);
      return exitCodes.ok;
    });
  });
}

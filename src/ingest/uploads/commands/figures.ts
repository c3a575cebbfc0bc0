import { type Command, Option } from 'commander';
import { addClientFlags, type Client, connectClient, type Query } from '../../../cli/client/client.ts';
import { findTarget, saveDownload } from '../../../cli/client/download.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { shortBytes } from '../../../cli/terminal/progress.ts';
import { figureKinds, figureLevels, groupings, sortings } from '../figures/types.ts';
import { uuidOf } from './send.ts';

interface FilterFlags {
  kind: string;
  workspace?: string;
  client?: string;
  platform?: string;
  campaign?: string;
  currency?: string;
  level?: string;
  from?: string;
  to?: string;
  by?: string;
  sort?: string;
  order?: string;
  json?: boolean;
}

const formats = ['csv', 'parquet'] as const;
const mediaTypes = { csv: 'text/csv', parquet: 'application/vnd.apache.parquet' };

export function addDataCommand(program: Command): void {
  const data = program
    .command('data')
    .description(
      'Use the figures that uploads brought: `sluice data totals --by campaign`, `sluice data export`.',
    );
  addTotals(data);
  addExport(data);
}

function addFilters(command: Command): Command {
  return command
    .addOption(
      new Option('--kind <kind>', 'days, or reports without a day')
        .choices([...figureKinds])
        .default('daily'),
    )
    .option(
      '--workspace <id>',
      'only this one',
      uuidOf('--workspace', { hint: 'GET /api/workspaces lists them' }),
    )
    .option('--client <id>', 'only this one; `none` for figures without a client')
    .option('--platform <name>', 'only this one')
    .option('--campaign <text>', 'part of its name, or its id at the platform')
    .option('--currency <code>', 'only this one; `none` for figures without a currency')
    .addOption(new Option('--level <level>', 'only figures stated for it').choices([...figureLevels]))
    .option('--from <day>', 'the first day, for example 2026-03-01')
    .option('--to <day>', 'the last day')
    .addOption(new Option('--by <group>', 'what to add up by').choices([...groupings]))
    .addOption(new Option('--sort <column>', 'what to sort groups by').choices([...sortings]))
    .addOption(new Option('--order <direction>', 'asc or desc').choices(['asc', 'desc']));
}

function queryOf(flags: FilterFlags): Query {
  return {
    kind: flags.kind,
    workspace_id: flags.workspace,
    client_id: flags.client,
    platform: flags.platform,
    campaign: flags.campaign,
    currency: flags.currency,
    level: flags.level,
    from: flags.from,
    to: flags.to,
    group_by: flags.by,
    sort: flags.sort,
    order: flags.order,
  };
}

interface Totals {
  currency: string | null;
  date_from: string;
  date_to: string;
  rows: number;
  impressions: number | null;
  clicks: number | null;
  spend: number | null;
  conversions: number | null;
  conversion_value: number | null;
}

interface Group extends Totals {
  key: string | null;
  name: string | null;
}

interface SummaryView {
  data: Group[];
  totals: Totals[];
  notes: { message: string }[];
  has_more: boolean;
}

function addTotals(data: Command): void {
  const command = data
    .command('totals')
    .description('Print sums, one line per group and currency. Currencies are never added together.')
    .option('--limit <n>', 'how many groups at most', '50');
  addClientFlags(addFilters(command)).action(
    async (flags: FilterFlags & { limit: string }, self: Command) => {
      const client = await connectClient(self);
      process.exitCode = await interruptible((signal) => showTotals(client, { flags, signal }));
    },
  );
}

async function showTotals(
  client: Client,
  { flags, signal }: { flags: FilterFlags & { limit: string }; signal: AbortSignal },
): Promise<ExitCode> {
  const query = { ...queryOf(flags), limit: flags.limit };
  const found = await client.get<SummaryView>('/api/data/summary', { query, signal });
  if (flags.json) {
    printJson(found);
    return exitCodes.ok;
  }
  const groups = flags.by === undefined ? [] : found.data.map((group) => [nameOf(group), ...cellsOf(group)]);
  const totals = found.totals.map((total) => ['total', ...cellsOf(total)]);
  print(table([header, ...groups, ...totals]));
  for (const { message } of found.notes) note(message);
  if (found.totals.length === 0) note('No figures match.');
  if (flags.by !== undefined && found.has_more) {
    note(
      `There are more groups than ${flags.limit}; --limit shows up to 500, \`sluice data export\` writes all.`,
    );
  }
  return exitCodes.ok;
}

const header = ['GROUP', 'FROM', 'TO', 'IMPRESSIONS', 'CLICKS', 'SPEND', 'CONVERSIONS', 'VALUE', 'CURRENCY'];

const nameOf = ({ name, key }: Group): string => shortText(name ?? key ?? '(none)', 60);

function cellsOf(sums: Totals): string[] {
  const figures = [sums.impressions, sums.clicks, sums.spend, sums.conversions, sums.conversion_value];
  const written = figures.map((figure) => (figure === null ? '–' : String(figure)));
  return [sums.date_from, sums.date_to, ...written, sums.currency ?? '–'];
}

function addExport(data: Command): void {
  const command = data
    .command('export')
    .description('Write the figures to a file: every stored row, or with --by their sums.')
    .option('-o, --output <file>', 'where to; its ending .csv or .parquet decides the format')
    .addOption(new Option('--format <format>', 'instead of the ending').choices([...formats]));
  addClientFlags(addFilters(command)).action(
    async (flags: FilterFlags & { output?: string; format?: (typeof formats)[number] }, self: Command) => {
      const { output: file } = flags;
      const format = flags.format ?? formats.find((one) => file?.toLowerCase().endsWith(`.${one}`)) ?? 'csv';
      if (format === 'parquet' && file === undefined && process.stdout.isTTY === true) {
        throw new UsageError(
          'A Parquet file is not for a terminal. Allowed: -o FILE, a pipe, or --format csv.',
        );
      }
      if (flags.json && file === undefined) {
        throw new UsageError('--json tells of a file that was written. Allowed: with -o FILE.');
      }
      const client = await connectClient(self);
      process.exitCode = await interruptible(async (signal) => {
        const target = file === undefined ? null : await findTarget(file);
        const wanted = {
          method: 'GET',
          query: { ...queryOf(flags), format },
          mediaType: mediaTypes[format],
          signal,
        };
        const chunks = await client.download('/api/data/export', { ...wanted, method: 'GET' });
        const sizeBytes = await saveDownload(chunks, { target, isSilent: false, signal });
        if (flags.json) printJson({ file, format, size_bytes: sizeBytes });
        else if (file !== undefined) note(`Wrote ${file}, ${shortBytes(sizeBytes)}.`);
        return exitCodes.ok;
      });
    },
  );
}

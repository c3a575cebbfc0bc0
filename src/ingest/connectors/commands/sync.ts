import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { watchJobs } from '../../../cli/client/job-watch.ts';
import { maxListed, printList, readPages } from '../../../cli/client/lists.ts';
import { parseJobId, wholeNumber } from '../../../cli/terminal/arguments.ts';
import { shortDuration, shortText, shortTime } from '../../../cli/terminal/cells.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { jobStatuses } from '../../../kernel/jobs/types.ts';
import type { statusReply } from '../connections/routes.ts';
import type { renderConnector, renderSync } from '../views.ts';

type ConnectorView = ReturnType<typeof renderConnector>;
type SyncView = ReturnType<typeof renderSync>;

export function addSyncCommand(program: Command): void {
  const sync = program.command('sync').description('List connectors, sync them and follow their syncs.');
  addList(sync);
  addNow(sync);
  addWatch(sync);
  addHistory(sync);
  addStatus(sync);
}

interface JsonOption {
  json?: boolean;
}

const parseLimit = wholeNumber('--limit', { min: 1, max: maxListed });

function addList(sync: Command): void {
  const list = sync
    .command('list')
    .description('List connectors with their cadence and last sync.')
    .option('--limit <n>', 'how many at most', parseLimit, 50);
  addClientFlags(list).action(async ({ json, limit }: JsonOption & { limit: number }, command: Command) => {
    const client = await connectClient(command);
    const page = await readPages<ConnectorView>(client, '/api/connectors', { query: {}, limit });
    const header = ['CONNECTOR', 'NAME', 'ACCOUNT', 'EVERY', 'NEXT', 'LAST', 'ENDED'];
    printList(page, { json, nothing: 'There are no connectors.', header, row: connectorRow });
  });
}

function connectorRow(connector: ConnectorView): string[] {
  return [
    shortText(connector.connector_id, 40),
    shortText(connector.name, 30),
    shortText(connector.external_account_id, 30),
    connector.enabled ? `${connector.cadence_hours} h` : 'off',
    shortTime(connector.next_sync_at),
    connector.last_sync?.status ?? '-',
    shortTime(connector.last_sync?.finished_at ?? null),
  ];
}

function addNow(sync: Command): void {
  const now = sync
    .command('now')
    .description('Sync a connector now. With --watch: follow it until it has ended (exit 0: it succeeded).')
    .argument('<connector>', 'its id')
    .option('--correlation-id <id>', 'goes through logs, events and retries')
    .option('--watch', 'follow it to its end');
  addClientFlags(now).action(
    async (
      connectorId: string,
      options: JsonOption & { correlationId?: string; watch?: boolean },
      command: Command,
    ) => {
      const client = await connectClient(command);
      const body = options.correlationId === undefined ? {} : { correlation_id: options.correlationId };
      const route = `/api/connectors/${encodeURIComponent(connectorId)}/sync`;
      const job = await client.post<SyncView>(route, { body });
      if (options.json) printJson(job);
      else print(`${job.job_id}  ${job.status}`);
      if (options.watch) {
        process.exitCode = await watchJobs(client, { jobId: job.job_id, json: options.json === true });
      } else {
        note(`\`sluice sync watch ${job.job_id}\` follows it.`);
      }
    },
  );
}

function addWatch(sync: Command): void {
  const watch = sync
    .command('watch')
    .description('Follow a sync until it has ended (exit 0: it succeeded).')
    .argument('<job>', 'the id that `sync now` printed', parseJobId);
  addClientFlags(watch).action(async (jobId: string, { json }: JsonOption, command: Command) => {
    const client = await connectClient(command);
    process.exitCode = await watchJobs(client, { jobId, json: json === true });
  });
}

interface HistoryOptions extends JsonOption {
  connector?: string;
  status?: string;
  limit: number;
}

function addHistory(sync: Command): void {
  const history = sync
    .command('history')
    .description('List syncs, newest first.')
    .option('--connector <id>', 'only of this connector')
    .addOption(new Option('--status <status>', 'only with this status').choices(jobStatuses))
    .option('--limit <n>', 'how many at most', parseLimit, 50);
  addClientFlags(history).action(async (options: HistoryOptions, command: Command) => {
    const { connector, status, limit, json } = options;
    const client = await connectClient(command);
    const query = { connector_id: connector, status };
    const page = await readPages<SyncView>(client, '/api/syncs', { query, limit });
    const header = ['JOB', 'CONNECTOR', 'STATUS', 'TRIES', 'RECORDS', 'TOOK', 'UPDATED', 'ERROR'];
    printList(page, { json, nothing: 'No sync matches.', header, row: syncRow });
  });
}

function syncRow(sync: SyncView): string[] {
  return [
    sync.job_id,
    shortText(sync.connector_id, 40),
    sync.waiting_for === null ? sync.status : `${sync.status} (${shortText(sync.waiting_for, 40)})`,
    `${sync.retry_count}/${sync.max_retries}`,
    sync.records_synced === null ? '-' : String(sync.records_synced),
    sync.duration_seconds === null ? '-' : shortDuration(sync.duration_seconds * 1000),
    shortTime(sync.updated_at),
    shortText(sync.error_code, 40),
  ];
}

function addStatus(sync: Command): void {
  const status = sync.command('status').description('Show whether Airbyte is configured and reachable.');
  addClientFlags(status).action(async ({ json }: JsonOption, command: Command) => {
    const client = await connectClient(command);
    const seen = await client.get<z.output<typeof statusReply>>('/api/connectors/status');
    if (json) return printJson(seen);
    const lines = [
      ['airbyte', seen.base_url ?? '-'],
      ['configured', seen.configured ? 'yes' : 'no'],
      ['missing', seen.missing.length === 0 ? '-' : seen.missing.join(', ')],
      ['state', seen.airbyte.state === 'closed' ? 'well' : 'down; syncs wait'],
      ['reason', shortText(seen.airbyte.reason, 300)],
      ['enrolment', seen.enrolment],
    ];
    print(table(lines.filter(([, value]) => value !== '-')));
  });
}

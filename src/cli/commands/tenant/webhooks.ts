import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../../client/client.ts';
import { maxListed, printList, readPages } from '../../client/lists.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { shortText, shortTime } from '../../terminal/cells.ts';
import { note, print, printJson } from '../../terminal/output.ts';

interface WebhookView {
  webhook_id: string;
  url: string;
  event_types: string[] | null;
  enabled: boolean;
  disabled_reason: string | null;
  failures_in_row: number;
  last_success_at: string | null;
}

interface JsonOption {
  json?: boolean;
}

export function addWebhooksCommand(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('Endpoints that events are sent to, signed and in order.');
  addList(webhooks);
  addCreate(webhooks);
  addTest(webhooks);
  addDelete(webhooks);
}

function addList(webhooks: Command): void {
  const list = webhooks
    .command('list')
    .description('List webhook endpoints; never their secrets.')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 100);
  addClientFlags(list).action(async ({ json, limit }: JsonOption & { limit: number }, command: Command) => {
    const page = await readPages<WebhookView>(await connectClient(command), '/api/webhooks', {
      query: {},
      limit,
    });
    printList(page, {
      json,
      nothing: 'There are no webhook endpoints yet.',
      header: listHeader,
      row: listRow,
    });
  });
}

const listHeader = ['WEBHOOK', 'URL', 'EVENTS', 'STATE', 'LAST SUCCESS'];

function listRow(webhook: WebhookView): string[] {
  return [
    webhook.webhook_id,
    shortText(webhook.url, 60),
    webhook.event_types === null ? 'all' : shortText(webhook.event_types.join(', '), 40),
    stateOf(webhook),
    shortTime(webhook.last_success_at),
  ];
}

function stateOf({ enabled, disabled_reason: reason, failures_in_row: failures }: WebhookView): string {
  if (!enabled) return reason === null ? 'off' : `off: ${shortText(reason, 40)}`;
  return failures === 0 ? 'on' : `failing (${failures})`;
}

function addCreate(webhooks: Command): void {
  const create = webhooks
    .command('create')
    .description('Send events to a URL from now on, and print the secret that signs them.')
    .argument('<url>', 'where to send them')
    .option('--event <type...>', 'only these types, such as job.completed (all)');
  addClientFlags(create).action(
    async (url: string, { json, event }: JsonOption & { event?: string[] }, command: Command) => {
      const body = { url, ...(event === undefined ? {} : { event_types: event }) };
      const client = await connectClient(command);
      const made = await client.post<WebhookView & { secret: string }>('/api/webhooks', { body });
      if (json) return printJson(made);
      print(`${made.webhook_id}  ${made.secret}`);
      note(
        'Keep the secret: it is not shown again. It checks the signatures, as Standard Webhooks specifies.',
      );
    },
  );
}

function addTest(webhooks: Command): void {
  const test = webhooks
    .command('test')
    .description('Send a webhook.test event to one endpoint.')
    .argument('<webhook>', 'its id');
  addClientFlags(test).action(async (id: string, { json }: JsonOption, command: Command) => {
    const sent = await (await connectClient(command)).post<{ delivery_id: string }>(`${pathOf(id)}/test`);
    if (json) printJson(sent);
    else print(sent.delivery_id);
  });
}

function addDelete(webhooks: Command): void {
  const remove = webhooks
    .command('delete')
    .description('Remove a webhook endpoint and its deliveries.')
    .argument('<webhook>', 'its id');
  addClientFlags(remove).action(async (id: string, _options: JsonOption, command: Command) => {
    await (await connectClient(command)).delete(pathOf(id));
    note(`Removed ${id}.`);
  });
}

function pathOf(webhookId: string): string {
  return `/api/webhooks/${encodeURIComponent(webhookId)}`;
}

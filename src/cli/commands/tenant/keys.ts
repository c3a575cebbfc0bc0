import { type Command, Option } from 'commander';
import { roles } from '../../../kernel/tenancy/types.ts';
import { addClientFlags, connectClient } from '../../client/client.ts';
import { maxListed, printList, readPages } from '../../client/lists.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { shortText, shortTime } from '../../terminal/cells.ts';
import { note, print, printJson } from '../../terminal/output.ts';

interface KeyView {
  key_id: string;
  name: string;
  role: string;
  key_hint: string;
  created_by: string;
  last_used_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
}

interface JsonOption {
  json?: boolean;
}

export function addKeysCommand(program: Command): void {
  const keys = program.command('keys').description('API keys for programs: create, list and revoke them.');
  addList(keys);
  addCreate(keys);
  addRevoke(keys);
}

function addList(keys: Command): void {
  const list = keys
    .command('list')
    .description('List API keys, including revoked ones; the keys themselves are never shown.')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 100);
  addClientFlags(list).action(async ({ json, limit }: JsonOption & { limit: number }, command: Command) => {
    const page = await readPages<KeyView>(await connectClient(command), '/api/api-keys', {
      query: {},
      limit,
    });
    printList(page, { json, nothing: 'There are no API keys yet.', header: listHeader, row: listRow });
  });
}

const listHeader = ['KEY', 'NAME', 'BEGINS WITH', 'ROLE', 'CREATED BY', 'LAST USED', 'STATE'];

function listRow(key: KeyView): string[] {
  return [
    key.key_id,
    shortText(key.name, 30),
    key.key_hint,
    key.role,
    shortText(key.created_by, 40),
    shortTime(key.last_used_at),
    key.revoked_at === null ? 'active' : `revoked ${shortTime(key.revoked_at)}`,
  ];
}

function addCreate(keys: Command): void {
  const create = keys
    .command('create')
    .description('Create an API key and print it, here and never again.')
    .argument('<name>', 'what it is for')
    .addOption(new Option('--role <role>', 'at most your own').choices(roles).default('service'))
    .option('--expires <time>', 'when it stops working, such as 2027-01-31T00:00:00Z');
  addClientFlags(create).action(
    async (name: string, options: JsonOption & { role: string; expires?: string }, command: Command) => {
      const { json, role, expires } = options;
      const body = { name, role, ...(expires === undefined ? {} : { expires_at: expires }) };
      const client = await connectClient(command);
      const made = await client.post<KeyView & { key: string }>('/api/api-keys', { body });
      if (json) return printJson(made);
      print(made.key);
      note(`Keep it: it is not shown again. \`sluice keys revoke ${made.key_id}\` ends it.`);
    },
  );
}

function addRevoke(keys: Command): void {
  const revoke = keys
    .command('revoke')
    .description('Revoke an API key; it stops working at once.')
    .argument('<key>', 'its id, from `sluice keys list`');
  addClientFlags(revoke).action(async (keyId: string, _options: JsonOption, command: Command) => {
    await (await connectClient(command)).delete(`/api/api-keys/${encodeURIComponent(keyId)}`);
    note(`Revoked ${keyId}.`);
  });
}

import { type Command, Option } from 'commander';
import { roles } from '../../../kernel/tenancy/types.ts';
import { addClientFlags, connectClient } from '../../client/client.ts';
import { maxListed, printList, readPages } from '../../client/lists.ts';
import { wholeNumber } from '../../terminal/arguments.ts';
import { shortText, shortTime } from '../../terminal/cells.ts';
import { note, print, printJson } from '../../terminal/output.ts';

interface UserView {
  user_id: string;
  role: string;
  name: string | null;
  email: string | null;
  disabled: boolean;
  invited_at: string | null;
  last_seen_at: string;
}

interface JsonOption {
  json?: boolean;
}

export function addUsersCommand(program: Command): void {
  const users = program
    .command('users')
    .description('The people of a tenant: invite them, set their roles, remove them.');
  addList(users);
  addInvite(users);
  addRole(users);
  addSwitch(users, {
    word: 'disable',
    disabled: true,
    description: 'Refuse a user, with the sessions and keys they have.',
  });
  addSwitch(users, { word: 'enable', disabled: false, description: 'Let a disabled user in again.' });
  addRemove(users);
}

function addList(users: Command): void {
  const list = users
    .command('list')
    .description('List users.')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 100);
  addClientFlags(list).action(async ({ json, limit }: JsonOption & { limit: number }, command: Command) => {
    const page = await readPages<UserView>(await connectClient(command), '/api/users', { query: {}, limit });
    printList(page, { json, nothing: 'There are no users yet.', header: listHeader, row: listRow });
  });
}

const listHeader = ['USER', 'NAME', 'EMAIL', 'ROLE', 'STATE', 'LAST SEEN'];

function listRow(user: UserView): string[] {
  return [
    shortText(user.user_id, 40),
    shortText(user.name, 30),
    shortText(user.email, 40),
    user.role,
    stateOf(user),
    user.invited_at === null ? shortTime(user.last_seen_at) : '-',
  ];
}

function stateOf({ disabled, invited_at: invitedAt }: UserView): string {
  if (disabled) return 'disabled';
  return invitedAt === null ? 'active' : 'invited';
}

function roleOption(): Option {
  return new Option('--role <role>', 'at most your own').choices(roles);
}

function addInvite(users: Command): void {
  const invite = users
    .command('invite')
    .description('Print a link that logs a new person in, once, within 7 days.')
    .argument('<person>', 'an e-mail address, or another id')
    .option('--name <name>', 'what the person is called')
    .addOption(roleOption().default('member'));
  addClientFlags(invite).action(
    async (person: string, options: JsonOption & { name?: string; role: string }, command: Command) => {
      const { json, name, role } = options;
      const who = person.includes('@') ? { email: person } : { user_id: person };
      const client = await connectClient(command);
      const made = await client.post<{ url: string; expires_at: string }>('/api/users/invitations', {
        body: { ...who, role, ...(name === undefined ? {} : { name }) },
      });
      if (json) return printJson(made);
      print(made.url);
      note(`Give it to ${person}: it works once, until ${shortTime(made.expires_at)}.`);
    },
  );
}

function addRole(users: Command): void {
  const role = users
    .command('role')
    .description('Set the role of a user, until a newer token states another one.')
    .argument('<user>', 'the id')
    .addOption(roleOption().makeOptionMandatory());
  addClientFlags(role).action(
    async (userId: string, options: JsonOption & { role: string }, command: Command) => {
      await change(command, { userId, body: { role: options.role }, json: options.json });
    },
  );
}

function addSwitch(users: Command, to: { word: string; disabled: boolean; description: string }): void {
  const command = users.command(to.word).description(to.description).argument('<user>', 'the id');
  addClientFlags(command).action(async (userId: string, { json }: JsonOption, called: Command) => {
    await change(called, { userId, body: { disabled: to.disabled }, json });
  });
}

async function change(
  command: Command,
  { userId, body, json }: { userId: string; body: object; json: boolean | undefined },
): Promise<void> {
  const client = await connectClient(command);
  const user = await client.patch<UserView>(`/api/users/${encodeURIComponent(userId)}`, { body });
  if (json) printJson(user);
  else print(`${user.user_id}  ${user.role}  ${stateOf(user)}`);
}

function addRemove(users: Command): void {
  const remove = users
    .command('remove')
    .description('Remove a user with their sessions and keys. A valid token brings them back.')
    .argument('<user>', 'the id');
  addClientFlags(remove).action(async (userId: string, _options: JsonOption, command: Command) => {
    await (await connectClient(command)).delete(`/api/users/${encodeURIComponent(userId)}`);
    note(`Removed ${userId}.`);
  });
}

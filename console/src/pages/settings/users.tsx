import { Button, Menu } from '@mantine/core';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan, useMe } from '../../api/queries.ts';
import type { Invitation, User } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { InvitationLink, InviteDialog, useGrantableRoles } from './invite-dialog.tsx';

const rowKey = (user: User) => user.user_id;

/** People who were invited, or came with a valid token. A newer token decides on the role. */
export function Users() {
  const mayManage = useCan('user.manage');
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<Invitation | null>(null);
  const list = useKeysetList({
    queryKey: ['settings', 'users'],
    fetchPage: (cursor, signal) => api.get('/api/users', { query: { cursor, limit: 100 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const columns = useColumns();
  return (
    <div className="stack">
      <div className="row">
        <span className="dim">
          Everybody who was invited or uses a valid token of this tenant. A newer token decides on the role. A
          user who is switched off is refused, even with a valid token, and so are the API keys that they
          made.
        </span>
        {mayManage ? <Button onClick={() => setOpen(true)}>Invite a person</Button> : null}
      </div>
      {made === null ? null : <InvitationLink made={made} onClose={() => setMade(null)} />}
      <KeysetTable
        label="Users"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        empty={
          <Empty
            sentence="No user yet. Invite somebody; users also appear with their first valid token."
            command="sluice users invite bob@example.com --role member"
          />
        }
        list={list}
        noun="users"
      />
      {isOpen ? <InviteDialog onClose={() => setOpen(false)} onMade={setMade} /> : null}
    </div>
  );
}

function useColumns(): Column<User>[] {
  const mayManage = useCan('user.manage');
  const me = useMe();
  const own = me?.user_id;
  const isOperator = me?.role === 'operator';
  const cells = useMemo(() => {
    const menu = (user: User) => {
      if (!mayManage || user.user_id === own) return null;
      if (!user.operator || isOperator) return <UserMenu user={user} />;
      return (
        <span className="dim" title="Only an operator can change an operator.">
          operator
        </span>
      );
    };
    return [...facts, { id: 'do', header: '', width: 110, cell: menu }];
  }, [isOperator, mayManage, own]);
  return cells;
}

const callOf = ({ name, user_id }: User) => name ?? user_id;

/** What can be done with a person. */
function UserMenu({ user }: { user: User }) {
  const roles = useGrantableRoles().filter((role) => role !== user.role);
  const path = { user_id: user.user_id };
  const change = useAction({
    run: (body: { disabled?: boolean; role?: User['role'] }) =>
      api.patch('/api/users/{user_id}', { path, body }),
    done: (changed, { role }) =>
      role
        ? `${callOf(changed)} is ${role} now.`
        : `${callOf(changed)} is switched ${changed.disabled ? 'off' : 'on'}.`,
    touches: ['settings'],
  });
  const remove = useAction({
    run: () => api.delete('/api/users/{user_id}', { path }),
    done: () => `Removed ${callOf(user)}.`,
    touches: ['settings'],
  });
  const switchOff = async () => {
    const title = `Switch ${callOf(user)} off?`;
    const consequence =
      'Their tokens, their sessions and the API keys that they made are refused until you switch them on again. ' +
      'Their jobs continue.';
    const action = 'Switch off';
    if (await confirm({ title, consequence, action, isDanger: true })) change.run({ disabled: true });
  };
  const askAndRemove = async () => {
    const title = `Remove ${callOf(user)}?`;
    const consequence =
      'Their sessions end and their API keys are revoked. Their jobs continue. A valid token brings them back.';
    if (await confirm({ title, consequence, action: 'Remove', isDanger: true })) remove.run();
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" size="compact-xs" aria-label={`Change ${callOf(user)}`}>
          Change
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {roles.map((role) => (
          <Menu.Item key={role} onClick={() => change.run({ role })}>
            Make {role}
          </Menu.Item>
        ))}
        <Menu.Divider />
        {user.disabled ? (
          <Menu.Item onClick={() => change.run({ disabled: false })}>Switch on</Menu.Item>
        ) : (
          <Menu.Item onClick={() => void switchOff()}>Switch off</Menu.Item>
        )}
        <Menu.Item color="red" onClick={() => void askAndRemove()}>
          Remove
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const facts: Column<User>[] = [
  {
    id: 'who',
    header: 'User',
    cell: ({ name, user_id }) => (
      <span className="cut">
        {name === null ? null : `${name} `}
        <span className="mono dim">{user_id}</span>
      </span>
    ),
  },
  {
    id: 'email',
    header: 'Email',
    width: 200,
    cell: ({ email }) => <span className="cut">{email ?? '–'}</span>,
  },
  { id: 'role', header: 'Role', width: 100, cell: ({ role }) => role },
  {
    id: 'state',
    header: 'State',
    width: 110,
    cell: ({ disabled, invited_at }) => (
      <StatusChip status={disabled ? 'disabled' : invited_at === null ? 'active' : 'invited'} />
    ),
  },
  {
    id: 'seen',
    header: 'Last seen',
    width: 120,
    cell: ({ last_seen_at, invited_at }) => (invited_at === null ? <Ago at={last_seen_at} /> : '–'),
  },
];

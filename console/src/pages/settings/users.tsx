import { Button } from '@mantine/core';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { useCan, useMe } from '../../api/queries.ts';
import type { User } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';

const rowKey = (user: User) => user.user_id;

/** People and programs that came with a valid token. Roles are in their tokens, not here. */
export function Users() {
  const list = useKeysetList({
    queryKey: ['settings', 'users'],
    fetchPage: (cursor, signal) => api.get('/api/users', { query: { cursor, limit: 100 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const columns = useColumns();
  return (
    <div className="stack">
      <span className="dim">
        Everybody who uses a valid token of this tenant appears here. The role is part of the token. A user
        who is switched off is refused, even with a valid token, and so are the API keys that they made.
      </span>
      <KeysetTable
        label="Users"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        empty={
          <Empty
            sentence="No user yet. Users appear with their first valid token."
            command="npx sluice token --tenant default --role member"
          />
        }
        list={list}
        noun="users"
      />
    </div>
  );
}

function useColumns(): Column<User>[] {
  const mayManage = useCan('user.manage');
  const me = useMe();
  const own = me?.user_id;
  const isOperator = me?.role === 'operator';
  const { run } = useAction({
    run: ({ user_id, disabled }: User) =>
      api.patch('/api/users/{user_id}', { path: { user_id }, body: { disabled: !disabled } }),
    done: (user) => `${user.name ?? user.user_id} is switched ${user.disabled ? 'off' : 'on'}.`,
    touches: ['settings'],
  });
  return useMemo(() => {
    const change = async (user: User) => {
      if (user.disabled) return run(user);
      const title = `Switch ${user.name ?? user.user_id} off?`;
      const consequence =
        'Their tokens, their sessions and the API keys that they made are refused until you switch them on again. ' +
        'Their jobs continue.';
      if (await confirm({ title, consequence, action: 'Switch off', isDanger: true })) run(user);
    };
    const button = (user: User) => {
      if (!mayManage || user.user_id === own) return null;
      if (user.operator && !isOperator) {
        return (
          <span className="dim" title="Only an operator can switch an operator off.">
            operator
          </span>
        );
      }
      return (
        <Button variant="subtle" size="compact-xs" onClick={() => void change(user)}>
          {user.disabled ? 'Switch on' : 'Switch off'}
        </Button>
      );
    };
    return [...facts, { id: 'do', header: '', width: 110, cell: button }];
  }, [isOperator, mayManage, own, run]);
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
    cell: ({ disabled }) => <StatusChip status={disabled ? 'disabled' : 'active'} />,
  },
  { id: 'seen', header: 'Last seen', width: 120, cell: ({ last_seen_at }) => <Ago at={last_seen_at} /> },
];

import { Alert, Button, Select, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useMe } from '../../api/queries.ts';
import type { ApiKey } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { Command } from '../../parts/command.tsx';
import { confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';

const rowKey = (key: ApiKey) => key.key_id;

export function ApiKeys() {
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<{ name: string; key: string } | null>(null);
  const list = useKeysetList({
    queryKey: ['settings', 'keys'],
    fetchPage: (cursor, signal) => api.get('/api/api-keys', { query: { cursor, limit: 100 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const columns = useColumns();
  const button = <Button onClick={() => setOpen(true)}>New API key</Button>;
  return (
    <div className="stack">
      <div className="row">
        <span className="dim">
          For programs. A key acts with its own role until it expires or is revoked. It never has more rights
          than the user behind it, and none while that user is switched off.
        </span>
        {button}
      </div>
      {made === null ? null : <ShownOnce made={made} onClose={() => setMade(null)} />}
      <KeysetTable
        label="API keys"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        empty={
          <Empty
            sentence="No API key yet. Create one for a program that calls this server."
            button={button}
          />
        }
        list={list}
        noun="keys"
      />
      {isOpen ? <NewKeyDialog onClose={() => setOpen(false)} onMade={setMade} /> : null}
    </div>
  );
}

function ShownOnce({ made, onClose }: { made: { name: string; key: string }; onClose: () => void }) {
  return (
    <Alert
      color="teal"
      title={`The key ${made.name} is shown only once`}
      withCloseButton
      closeButtonLabel="I have copied it"
      onClose={onClose}
    >
      <Command line={made.key} />
      <p className="small">Only its hash is stored, so it cannot be shown again.</p>
    </Alert>
  );
}

type Role = ApiKey['role'];

function NewKeyDialog(props: { onClose: () => void; onMade: (made: { name: string; key: string }) => void }) {
  const { onClose, onMade } = props;
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('service');
  const [lasts, setLasts] = useState('90');
  const isOperator = useMe()?.role === 'operator';
  const roles: Role[] = isOperator
    ? ['member', 'admin', 'support', 'service', 'operator']
    : ['member', 'admin', 'service'];
  return (
    <FormDialog
      title="New API key"
      isOpen
      onClose={onClose}
      action="Create API key"
      isReady={name.trim() !== ''}
      send={() => api.post('/api/api-keys', { body: { name: name.trim(), role, ...expiry(Number(lasts)) } })}
      done={() => 'Made the key. Copy it now.'}
      touches={['settings']}
      afterwards={onMade}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            description="Which program it is for."
            required
            value={name}
            error={messageAt(error, 'name')}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <Select
            label="Role"
            data={roles}
            value={role}
            allowDeselect={false}
            onChange={(value) => setRole((value ?? 'service') as Role)}
          />
          <Select
            label="Lasts"
            data={lifetimes}
            value={lasts}
            allowDeselect={false}
            onChange={(value) => setLasts(value ?? '90')}
          />
        </>
      )}
    </FormDialog>
  );
}

const lifetimes = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
  { value: '0', label: 'until it is revoked' },
];

function expiry(days: number): { expires_at?: string } {
  return days === 0 ? {} : { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() };
}

function useColumns(): Column<ApiKey>[] {
  const isOperator = useMe()?.role === 'operator';
  const { run } = useAction({
    run: ({ key_id }: ApiKey) => api.delete('/api/api-keys/{key_id}', { path: { key_id } }),
    done: (_, { name }: ApiKey) => `Revoked ${name}.`,
    touches: ['settings'],
  });
  return useMemo(() => {
    const revoke = async (key: ApiKey) => {
      const title = `Revoke ${key.name}?`;
      const consequence = 'Every program that uses it is refused from now on. This cannot be undone.';
      if (await confirm({ title, consequence, action: 'Revoke key', isDanger: true })) run(key);
    };
    const button = (key: ApiKey) => {
      if (!['active', 'suspended'].includes(stateOf(key))) return null;
      if (key.operator_only && !isOperator) {
        return (
          <span className="dim" title="It belongs to an operator, so only an operator can revoke it.">
            operator’s
          </span>
        );
      }
      return (
        <Button variant="subtle" color="red" size="compact-xs" onClick={() => void revoke(key)}>
          Revoke
        </Button>
      );
    };
    return [...facts, { id: 'do', header: '', width: 110, cell: button }];
  }, [isOperator, run]);
}

const facts: Column<ApiKey>[] = [
  { id: 'name', header: 'Key', cell: ({ name }) => <span className="cut">{name}</span> },
  { id: 'hint', header: 'Begins with', width: 110, cell: ({ key_hint }) => <code>{key_hint}…</code> },
  { id: 'role', header: 'Role', width: 100, cell: ({ role }) => role },
  {
    id: 'user',
    header: 'User',
    width: 100,
    cell: ({ user_id }) => <span className="cut">{user_id}</span>,
  },
  { id: 'state', header: 'State', width: 270, cell: (key) => <KeyState of={key} /> },
  {
    id: 'used',
    header: 'Last used',
    width: 95,
    cell: ({ last_used_at }) => <Ago at={last_used_at} empty="never" />,
  },
  {
    id: 'ends',
    header: 'Expires',
    width: 95,
    cell: ({ expires_at }) => <Ago at={expires_at} empty="never" />,
  },
];

function KeyState({ of: key }: { of: ApiKey }) {
  const state = stateOf(key);
  return (
    <span className="cut" title={key.suspended_because ?? undefined}>
      <StatusChip status={state} />
      {state === 'suspended' ? <span className="dim small"> {key.suspended_because}</span> : null}
    </span>
  );
}

function stateOf({
  revoked_at,
  expires_at,
  suspended,
}: ApiKey): 'active' | 'revoked' | 'expired' | 'suspended' {
  if (revoked_at !== null) return 'revoked';
  if (expires_at !== null && new Date(expires_at).getTime() < Date.now()) return 'expired';
  return suspended ? 'suspended' : 'active';
}

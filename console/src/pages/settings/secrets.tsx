import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { Problem } from '../../parts/problem.tsx';
import { type Secret, secretsQuery } from '../../parts/secrets.ts';
import { Ago } from '../../parts/time.tsx';
import { ChangeSecretDialog, StoreSecretDialog } from './secret-dialogs.tsx';

const rowKey = (secret: Secret) => secret.name;

type Opened = { kind: 'store'; secret: Secret | null } | { kind: 'change'; secret: Secret };

/** Names and rules only: a stored secret can be used and replaced, never read. */
export function Secrets() {
  const [opened, setOpened] = useState<Opened | null>(null);
  const { data, error, isPending, refetch } = useQuery(secretsQuery);
  const columns = useColumns(setOpened);
  const close = () => setOpened(null);
  const button = <Button onClick={() => setOpened({ kind: 'store', secret: null })}>Store a secret</Button>;
  return (
    <div className="stack">
      <div className="row">
        <span className="dim">
          Keys of providers, encrypted. Each is sent to its own hosts only; nobody can read it.
        </span>
        {button}
      </div>
      {error === null ? null : <Problem error={error} retry={() => void refetch()} />}
      <ListTable
        label="Secrets"
        columns={columns}
        rows={data?.data ?? []}
        rowKey={rowKey}
        isLoading={isPending}
        empty={
          error === null ? (
            <Empty sentence="No secret yet. Store the API key of a provider here." button={button} />
          ) : undefined
        }
      />
      {opened?.kind === 'store' ? <StoreSecretDialog secret={opened.secret} onClose={close} /> : null}
      {opened?.kind === 'change' ? <ChangeSecretDialog secret={opened.secret} onClose={close} /> : null}
    </div>
  );
}

function useColumns(open: (opened: Opened) => void): Column<Secret>[] {
  const { run } = useAction({
    run: ({ name }: Secret) => api.delete('/api/secrets/{name}', { path: { name } }),
    done: (_, { name }: Secret) => `Deleted ${name}.`,
    touches: ['settings'],
  });
  return useMemo(() => {
    const remove = async (secret: Secret) => {
      const title = `Delete ${secret.name}?`;
      const consequence = 'Jobs that use it by name fail from now on, until it is stored again.';
      if (await confirm({ title, consequence, action: 'Delete secret', isDanger: true })) run(secret);
    };
    return [
      { id: 'name', header: 'Name', cell: ({ name }) => <span className="mono cut">{name}</span> },
      { id: 'hosts', header: 'Sent to', cell: (secret) => <Hosts secret={secret} /> },
      {
        id: 'who',
        header: 'Used by',
        cell: (secret) => (
          <span className="cut" title={usersOf(secret)}>
            {usersOf(secret)}
          </span>
        ),
      },
      { id: 'at', header: 'Stored', width: 110, cell: ({ updated_at }) => <Ago at={updated_at} /> },
      {
        id: 'do',
        header: '',
        width: 290,
        cell: (secret) => (
          <span className="row">
            <Button variant="subtle" size="compact-xs" onClick={() => open({ kind: 'change', secret })}>
              Change use
            </Button>
            <Button variant="subtle" size="compact-xs" onClick={() => open({ kind: 'store', secret })}>
              Replace
            </Button>
            <Button variant="subtle" color="red" size="compact-xs" onClick={() => void remove(secret)}>
              Delete
            </Button>
          </span>
        ),
      },
    ];
  }, [run, open]);
}

function Hosts({ secret: { hosts, needs_hosts } }: { secret: Secret }) {
  if (!needs_hosts) {
    return (
      <span className="mono cut" title={hosts.join(', ')}>
        {hosts.join(', ')}
      </span>
    );
  }
  const why =
    'It was stored before secrets had hosts. It cannot be used until you replace it and name its hosts.';
  return <strong title={why}>Needs hosts</strong>;
}

function usersOf({ roles, uses }: Secret): string {
  const who = roles.includes('member') ? 'Members and admins' : 'Admins';
  return uses === null ? who : `${who}, for ${uses.join(', ')}`;
}

import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, type Reply } from '../../api/client.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Ago } from '../../parts/time.tsx';

type Secret = Reply<'/api/secrets'>['data'][number];
const rowKey = (secret: Secret) => secret.name;

/** Names only: a stored secret can be used and replaced, never read. */
export function Secrets() {
  const [isOpen, setOpen] = useState(false);
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['settings', 'secrets'],
    queryFn: ({ signal }) => api.get('/api/secrets', { signal }),
  });
  const columns = useColumns();
  const button = <Button onClick={() => setOpen(true)}>Store a secret</Button>;
  return (
    <div className="stack">
      <div className="row">
        <span className="dim">
          Keys of providers, encrypted. Processors and embedders use them by name; nobody can read them.
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
      {isOpen ? <StoreDialog onClose={() => setOpen(false)} /> : null}
    </div>
  );
}

function StoreDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  return (
    <FormDialog
      title="Store a secret"
      isOpen
      onClose={onClose}
      action="Store secret"
      isReady={name.trim() !== '' && value !== ''}
      send={() => api.put('/api/secrets/{name}', { path: { name: name.trim() }, body: { value } })}
      done={() => `Stored ${name.trim()}.`}
      touches={['settings']}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            description="An existing secret with this name is replaced."
            required
            value={name}
            error={messageAt(error, 'name')}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          <PasswordInput
            label="Secret"
            required
            autoComplete="off"
            value={value}
            error={messageAt(error, 'value')}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
        </>
      )}
    </FormDialog>
  );
}

function useColumns(): Column<Secret>[] {
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
      { id: 'at', header: 'Stored', width: 130, cell: ({ updated_at }) => <Ago at={updated_at} /> },
      {
        id: 'do',
        header: '',
        width: 100,
        cell: (secret) => (
          <Button variant="subtle" color="red" size="compact-xs" onClick={() => void remove(secret)}>
            Delete
          </Button>
        ),
      },
    ];
  }, [run]);
}

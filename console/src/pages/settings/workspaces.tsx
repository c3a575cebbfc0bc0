import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan, workspacesQuery } from '../../api/queries.ts';
import type { Workspace } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { Id } from '../../parts/command.tsx';
import { confirm } from '../../parts/confirm.tsx';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Ago } from '../../parts/time.tsx';

const rowKey = (workspace: Workspace) => workspace.workspace_id;

const facts = [
  { id: 'name', header: 'Workspace', cell: (row: Workspace) => <span className="cut">{row.name}</span> },
  {
    id: 'id',
    header: 'Id',
    width: 330,
    cell: (row: Workspace) => <Id value={row.workspace_id} length={36} />,
  },
  { id: 'made', header: 'Created', width: 120, cell: (row: Workspace) => <Ago at={row.created_at} /> },
];

export function Workspaces() {
  const { data, error, isPending, refetch } = useQuery(workspacesQuery);
  const mayManage = useCan('workspace.manage');
  const [open, setOpen] = useState<Workspace | 'new' | null>(null);
  const remove = useRemoval();
  const columns = mayManage
    ? [
        ...facts,
        {
          id: 'do',
          header: '',
          width: 190,
          cell: (row: Workspace) => (
            <span className="row">
              <Button variant="subtle" size="compact-xs" onClick={() => setOpen(row)}>
                Rename
              </Button>
              <Button variant="subtle" color="red" size="compact-xs" onClick={() => void remove(row)}>
                Delete
              </Button>
            </span>
          ),
        },
      ]
    : facts;
  return (
    <div className="stack">
      <div className="row">
        <span className="dim">Uploads and their data belong to a workspace. </span>
        {mayManage ? <Button onClick={() => setOpen('new')}>New workspace</Button> : null}
      </div>
      {error === null ? null : <Problem error={error} retry={() => void refetch()} />}
      <ListTable
        label="Workspaces"
        columns={columns}
        rows={data?.data ?? []}
        rowKey={rowKey}
        isLoading={isPending}
      />
      {open === null ? null : (
        <NameDialog workspace={open === 'new' ? null : open} onClose={() => setOpen(null)} />
      )}
    </div>
  );
}

function NameDialog({ workspace, onClose }: { workspace: Workspace | null; onClose: () => void }) {
  const [name, setName] = useState(workspace?.name ?? '');
  const body = { name: name.trim() };
  return (
    <FormDialog
      title={workspace === null ? 'New workspace' : `Rename ${workspace.name}`}
      isOpen
      onClose={onClose}
      action={workspace === null ? 'Create workspace' : 'Rename workspace'}
      isReady={body.name !== ''}
      send={() =>
        workspace === null
          ? api.post('/api/workspaces', { body })
          : api.patch('/api/workspaces/{workspace_id}', {
              path: { workspace_id: workspace.workspace_id },
              body,
            })
      }
      done={(made) => `${workspace === null ? 'Created' : 'Renamed it to'} ${made.name}.`}
      touches={['settings']}
    >
      {(error) => (
        <TextInput
          label="Name"
          required
          maxLength={200}
          value={name}
          error={messageAt(error, 'name')}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
      )}
    </FormDialog>
  );
}

function useRemoval() {
  const { run } = useAction({
    run: ({ workspace_id }: Workspace) =>
      api.delete('/api/workspaces/{workspace_id}', { path: { workspace_id } }),
    done: (_, { name }: Workspace) => `Deleted ${name}.`,
    touches: ['settings'],
  });
  return async (workspace: Workspace) => {
    const title = `Delete ${workspace.name}?`;
    const consequence = 'A workspace that has uploads, or that is the last one, cannot be deleted.';
    if (await confirm({ title, consequence, action: 'Delete workspace', isDanger: true })) run(workspace);
  };
}

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { UploadPlatform, UploadPlatformSummary } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Ago } from '../../parts/time.tsx';
import { PlatformDialog } from './platform-dialog.tsx';
import { platformsQuery } from './platforms.ts';
import { platformsSearch } from './search.ts';
import './uploads.css';

const crumbs = [{ label: 'Uploads', to: '/uploads' }];
const rowKey = ({ name }: UploadPlatformSummary) => name;

export default function PlatformsPage() {
  const [{ name }, change] = useListState(platformsSearch);
  const mayDefine = useCan('upload.platforms');
  /** The platform to change; empty: a new one. */
  const [edited, setEdited] = useState<UploadPlatform | 'new' | null>(null);
  const query = useQuery(platformsQuery);
  const rows = query.data?.data ?? [];
  return (
    <Page
      title="Platforms"
      breadcrumbs={crumbs}
      sentence="How the reports of each platform are read. You can define platforms of your own."
      actions={mayDefine ? <Button onClick={() => setEdited('new')}>Define platform</Button> : undefined}
    >
      {query.error === null ? null : <Problem error={query.error} retry={() => void query.refetch()} />}
      <ListTable
        label="Platforms"
        columns={columns}
        rows={rows}
        rowKey={rowKey}
        onOpen={(row) => change({ name: row.name })}
        openKey={name}
        maxHeight="40vh"
        empty={
          <p className="dim" aria-busy="true">
            Loading …
          </p>
        }
      />
      {name === undefined ? (
        <p className="dim small">Choose a platform to see its profile.</p>
      ) : (
        <PlatformPanel key={name} name={name} onChange={setEdited} onGone={() => change({ name: '' })} />
      )}
      {edited === null ? null : (
        <PlatformDialog
          platform={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={(saved) => change({ name: saved })}
        />
      )}
    </Page>
  );
}

interface PlatformPanelProps {
  name: string;
  onChange: (platform: UploadPlatform) => void;
  onGone: () => void;
}

function PlatformPanel({ name, onChange, onGone }: PlatformPanelProps) {
  const mayDefine = useCan('upload.platforms');
  const query = useQuery({
    queryKey: ['uploads', 'platforms', name],
    queryFn: ({ signal }) => api.get('/api/uploads/platforms/{name}', { path: { name }, signal }),
  });
  const platform = query.data;
  if (platform === undefined) return query.error === null ? null : <Problem error={query.error} />;
  const canChange = mayDefine && !platform.is_built_in;
  const { notes, ...profile } = platform.profile;
  return (
    <Panel
      title={platform.profile.title}
      aside={canChange ? <Actions platform={platform} onChange={onChange} onGone={onGone} /> : undefined}
    >
      <div className="stack">
        {notes === '' ? null : <p>{notes}</p>}
        <JsonView value={profile} label="Copy the profile" />
      </div>
    </Panel>
  );
}

function Actions(props: Omit<PlatformPanelProps, 'name'> & { platform: UploadPlatform }) {
  const { platform, onChange, onGone } = props;
  const { name } = platform;
  const remove = useAction({
    run: () => api.delete('/api/uploads/platforms/{name}', { path: { name } }),
    done: () => `Deleted the platform ${name}. Its uploads stay.`,
    touches: ['uploads'],
    afterwards: onGone,
  });
  const ask = async () => {
    const isSure = await confirm({
      title: `Delete the platform ${name}?`,
      consequence: 'New reports of it are refused. Uploads and figures that it has brought stay.',
      action: 'Delete platform',
      isDanger: true,
    });
    if (isSure) remove.run();
  };
  return (
    <div className="row">
      <Button variant="default" onClick={() => onChange(platform)}>
        Change
      </Button>
      <Button variant="default" color="red" loading={remove.isRunning} onClick={() => void ask()}>
        Delete
      </Button>
    </div>
  );
}

const columns: readonly Column<UploadPlatformSummary>[] = [
  { id: 'title', header: 'Platform', cell: ({ title }) => title },
  { id: 'name', header: 'Name', width: 150, cell: ({ name }) => <code>{name}</code> },
  {
    id: 'kind',
    header: 'Defined by',
    width: 190,
    cell: ({ is_built_in: isBuiltIn, version }) =>
      isBuiltIn ? 'Sluice' : `your tenant, version ${version ?? 1}`,
  },
  {
    id: 'languages',
    header: 'Languages',
    width: 110,
    align: 'end',
    cell: ({ languages }) => <span className="num">{languages.length === 0 ? '–' : languages.length}</span>,
  },
  {
    id: 'changed',
    header: 'Changed',
    width: 130,
    cell: ({ created_at: at }) => (at === null ? '–' : <Ago at={at} />),
  },
];

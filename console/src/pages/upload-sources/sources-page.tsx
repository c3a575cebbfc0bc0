import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { UploadSource } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { titleOf } from '../uploads/platforms.ts';
import { kindTitles } from './place-forms.ts';
import { PullPanel } from './pull-panel.tsx';
import { sourcesSearch } from './search.ts';
import { SourceDialog } from './source-dialog.tsx';

const crumbs = [{ label: 'Uploads', to: '/uploads' }];
const rowKey = ({ source_id: id }: UploadSource) => id;

export default function SourcesPage() {
  const [{ source: shown }, change] = useListState(sourcesSearch);
  const mayManage = useCan('source.manage');
  const [edited, setEdited] = useState<UploadSource | 'new' | null>(null);
  const query = useQuery({
    queryKey: ['uploads', 'sources'],
    queryFn: ({ signal }) => api.get('/api/uploads/sources', { query: { limit: 500 }, signal }),
  });
  const rows = query.data?.data ?? [];
  const source = rows.find(({ source_id: id }) => id === shown);
  return (
    <Page
      title="Sources"
      breadcrumbs={crumbs}
      sentence="Places that reports are pulled from on a schedule. Each pull asks for the last days again."
      actions={mayManage ? <Button onClick={() => setEdited('new')}>New source</Button> : undefined}
    >
      {query.error === null ? null : <Problem error={query.error} retry={() => void query.refetch()} />}
      <ListTable
        label="Sources"
        columns={columns}
        rows={rows}
        rowKey={rowKey}
        onOpen={(row) => change({ source: row.source_id })}
        openKey={shown}
        maxHeight="45vh"
        empty={
          query.isPending ? (
            <p className="dim" aria-busy="true">
              Loading …
            </p>
          ) : (
            <p className="dim">
              There are no sources. A source pulls the reports of an ad account every day, so that nobody has
              to export them. <code>sluice upload-sources create @source.json</code> makes one, too.
            </p>
          )
        }
      />
      {source === undefined ? null : (
        <SourcePanel
          key={source.source_id}
          source={source}
          onChange={setEdited}
          onGone={() => change({ source: '' })}
        />
      )}
      {edited === null ? null : (
        <SourceDialog
          source={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={(id) => change({ source: id })}
        />
      )}
    </Page>
  );
}

const stateLooks: Record<UploadSource['state'], { status: string; word: string }> = {
  new: { status: 'queued', word: 'not pulled yet' },
  waiting: { status: 'queued', word: 'queued' },
  pulling: { status: 'running', word: 'pulling' },
  ok: { status: 'success', word: 'ok' },
  failing: { status: 'failed', word: 'failing' },
};

const columns: readonly Column<UploadSource>[] = [
  { id: 'name', header: 'Source', cell: ({ name }) => name },
  { id: 'kind', header: 'Pulled from', width: 210, cell: ({ place }) => kindTitles[place.kind] },
  { id: 'platform', header: 'Platform', width: 130, cell: ({ platform }) => titleOf(platform) },
  { id: 'state', header: 'State', width: 130, cell: ({ state }) => <StatusChip {...stateLooks[state]} /> },
  {
    id: 'last',
    header: 'Last pull',
    width: 110,
    cell: ({ last_pull_at: at }) => <Ago at={at} />,
  },
  {
    id: 'next',
    header: 'Next pull',
    width: 120,
    cell: ({ next_pull_at: at }) => (at === null ? 'on request' : <Ago at={at} />),
  },
];

interface SourcePanelProps {
  source: UploadSource;
  onChange: (source: UploadSource) => void;
  onGone: () => void;
}

function SourcePanel({ source, onChange, onGone }: SourcePanelProps) {
  const mayManage = useCan('source.manage');
  return (
    <Panel
      title={source.name}
      aside={mayManage ? <Actions source={source} onChange={onChange} onGone={onGone} /> : undefined}
    >
      <div className="stack">
        <LastResult source={source} />
        <PullPanel source={source} />
      </div>
    </Panel>
  );
}

function LastResult({ source }: { source: UploadSource }) {
  const { last_result: result, last_error: error, last_error_code: code, last_job_id: jobId } = source;
  return (
    <>
      <p>{error ?? result?.message ?? 'This source has not been pulled yet.'}</p>
      {code === null ? null : <p className="dim small">{code}</p>}
      <p className="row small">
        {(result?.upload_ids ?? []).slice(0, 5).map((id, at) => (
          <Link key={id} to="/uploads/$uploadId" params={{ uploadId: id }}>
            {at === 0 ? 'Open the upload' : `Upload ${at + 1}`}
          </Link>
        ))}
        {jobId === null ? null : (
          <Link to="/jobs/$jobId" params={{ jobId }}>
            Job and history
          </Link>
        )}
      </p>
    </>
  );
}

function Actions({ source, onChange, onGone }: SourcePanelProps) {
  const { source_id: id, name } = source;
  const remove = useAction({
    run: () => api.delete('/api/uploads/sources/{source_id}', { path: { source_id: id } }),
    done: () => `Deleted ${name}. Its uploads stay.`,
    touches: ['uploads'],
    afterwards: onGone,
  });
  const ask = async () => {
    const isSure = await confirm({
      title: `Delete the source ${name}?`,
      consequence: 'Nothing is pulled from it any more. Uploads and figures that it has brought stay.',
      action: 'Delete source',
      isDanger: true,
    });
    if (isSure) remove.run();
  };
  return (
    <div className="row">
      <Button variant="default" onClick={() => onChange(source)}>
        Change
      </Button>
      <Button variant="default" color="red" loading={remove.isRunning} onClick={() => void ask()}>
        Delete
      </Button>
    </div>
  );
}

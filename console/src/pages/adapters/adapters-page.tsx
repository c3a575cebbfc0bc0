import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Adapter } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { hasText, TextFilterBar } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { AdapterDialog } from './adapter-dialog.tsx';
import { kindWords, placeOf, scheduleWords, targetWords } from './adapter-words.ts';
import { adaptersSearch } from './search.ts';

const rowKey = ({ name }: Adapter) => name;
const hrefOf = ({ name }: Adapter) => `/adapters/${encodeURIComponent(name)}`;

export default function AdaptersPage() {
  const [{ q }, change] = useListState(adaptersSearch);
  const [isOpen, setOpen] = useState(false);
  const mayManage = useCan('adapter.manage');
  const list = useKeysetList({
    queryKey: ['adapters', 'list'],
    fetchPage: (cursor, signal) =>
      api.get('/api/ingestion/adapters', { query: { cursor, limit: 200 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const rows = useMemo(() => list.rows.filter((row) => hasText([row.name, placeOf(row)], q)), [list.rows, q]);
  const button = (
    <Button
      disabled={!mayManage}
      title={mayManage ? '' : 'Only admins of the tenant can create adapters.'}
      onClick={() => setOpen(true)}
    >
      New adapter
    </Button>
  );
  return (
    <ListPage
      title="Adapters"
      sentence="Folders, S3 prefixes and FTP directories that Sluice scans for files. Each file is taken in once."
      actions={button}
      filters={<TextFilterBar label="Name or place" value={q} onChange={(text) => change({ q: text })} />}
      label="Adapters"
      columns={columns}
      rows={rows}
      rowKey={rowKey}
      href={hrefOf}
      empty={<NoAdapters q={q} button={button} />}
      list={list}
      noun="adapters"
    >
      {isOpen ? <AdapterDialog adapter={null} onClose={() => setOpen(false)} /> : null}
    </ListPage>
  );
}

const columns: Column<Adapter>[] = [
  { id: 'name', header: 'Adapter', width: 170, cell: ({ name }) => <span className="cut">{name}</span> },
  {
    id: 'state',
    header: 'State',
    width: 140,
    cell: ({ state, last_error }) => (
      <span title={last_error ?? ''}>
        <StatusChip status={state} />
      </span>
    ),
  },
  { id: 'at', header: 'Last scan', width: 110, cell: ({ last_scan_at }) => <LastScan at={last_scan_at} /> },
  { id: 'every', header: 'When', width: 130, cell: ({ every_minutes }) => scheduleWords(every_minutes) },
  { id: 'kind', header: 'Kind', width: 70, cell: ({ kind }) => kindWords[kind] },
  {
    id: 'target',
    header: 'Becomes',
    width: 150,
    cell: (row) => <span className="cut">{targetWords(row)}</span>,
  },
  {
    id: 'in',
    header: 'Taken in',
    width: 90,
    align: 'end',
    cell: ({ files }) => <span className="num">{count(files.ingested)}</span>,
  },
  {
    id: 'failed',
    header: 'Failed',
    width: 80,
    align: 'end',
    cell: ({ files }) => <span className="num">{count(files.failed)}</span>,
  },
  { id: 'place', header: 'Place', cell: (row) => <span className="cut dim">{placeOf(row)}</span> },
];

function LastScan({ at }: { at: string | null }) {
  return at === null ? <span className="dim">never</span> : <Ago at={at} />;
}

function NoAdapters({ q, button }: { q: string | undefined; button: React.ReactNode }) {
  if (q !== undefined) return <Empty sentence={`No adapter matches “${q}”.`} />;
  return (
    <Empty
      sentence="No adapter yet. Create one to make jobs of new files in a folder, an S3 prefix or an FTP directory."
      sample={['orders', 'ok', '2 min ago', 'every 5 minutes', 'FTP', '1,204 taken in']}
      button={button}
      command="sluice scan --watch"
    />
  );
}

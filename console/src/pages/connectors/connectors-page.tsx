import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Connector } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { hasText, TextFilterBar } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { share } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { AirbyteNotice } from './airbyte-notice.tsx';
import { scheduleWords } from './cadence.ts';
import { EnrolDialog } from './enrol-dialog.tsx';
import { ImportDialog } from './import-dialog.tsx';
import { connectorsSearch } from './search.ts';
import { type ConnectorFigures, connectorStatsQuery } from './statistics.ts';
import { waitWords } from './waits.ts';

type Row = Connector & { figures: ConnectorFigures | undefined };

const rowKey = (row: Row) => row.connector_id;
const hrefOf = (row: Row) => `/connectors/${encodeURIComponent(row.connector_id)}`;

export default function ConnectorsPage() {
  const [{ q }, change] = useListState(connectorsSearch);
  const mayManage = useCan('connector.manage');
  const mayImport = useCan('connection.import');
  const [open, setOpen] = useState<'enrol' | 'import' | null>(null);
  const { list, rows } = useConnectors(q);
  const enrol = (
    <Button disabled={!mayManage} title={mayManage ? '' : whyNot} onClick={() => setOpen('enrol')}>
      Enrol a connection
    </Button>
  );
  return (
    <ListPage
      title="Connectors"
      sentence="Each connector syncs one Airbyte connection on schedule, one sync at a time."
      actions={
        <>
          {enrol}
          {mayImport ? (
            <Button variant="default" onClick={() => setOpen('import')}>
              Import from Airbyte
            </Button>
          ) : null}
        </>
      }
      notice={<AirbyteNotice />}
      filters={
        <TextFilterBar label="Name, id or account" value={q} onChange={(text) => change({ q: text })} />
      }
      label="Connectors"
      columns={columns}
      rows={rows}
      rowKey={rowKey}
      href={hrefOf}
      empty={<NoConnectors q={q} button={enrol} />}
      list={list}
      noun="connectors"
    >
      <EnrolDialog isOpen={open === 'enrol'} onClose={() => setOpen(null)} />
      <ImportDialog isOpen={open === 'import'} onClose={() => setOpen(null)} />
    </ListPage>
  );
}

const whyNot = 'Only admins of the tenant can enrol connections.';

/** The filter applies to loaded rows, which are all of them for any but the largest tenants. */
function useConnectors(q: string | undefined) {
  const list = useKeysetList({
    queryKey: ['connectors', 'list'],
    fetchPage: (cursor, signal) => api.get('/api/connectors', { query: { cursor, limit: 200 }, signal }),
    rowKey: (connector: Connector) => connector.connector_id,
    announcesNew: false,
  });
  const stats = useQuery(connectorStatsQuery).data;
  const rows = useMemo(() => {
    const figures = new Map(stats?.data.map((each) => [each.connector_id, each]));
    return list.rows
      .filter(({ name, connector_id, external_account_id }) =>
        hasText([name, connector_id, external_account_id], q),
      )
      .map((connector) => ({ ...connector, figures: figures.get(connector.connector_id) }));
  }, [list.rows, stats, q]);
  return { list, rows };
}

const columns: Column<Row>[] = [
  { id: 'name', header: 'Connector', width: 200, cell: ({ name }) => <span className="cut">{name}</span> },
  { id: 'state', header: 'Last sync', width: 150, cell: (row) => <LastSync row={row} /> },
  { id: 'ended', header: 'Ended', width: 110, cell: (row) => <Ago at={row.last_sync?.finished_at} /> },
  { id: 'next', header: 'Next', width: 140, cell: (row) => <Next row={row} /> },
  { id: 'why', header: 'What happened', width: 220, cell: (row) => <Why row={row} /> },
  { id: 'cadence', header: 'Schedule', width: 120, cell: (row) => scheduleWords(row) },
  {
    id: 'rate',
    header: 'Succeeded',
    width: 100,
    align: 'end',
    cell: ({ figures }) => (figures?.success_rate == null ? '–' : share(figures.success_rate, 1)),
  },
  {
    id: 'took',
    header: 'Duration',
    width: 90,
    align: 'end',
    cell: ({ figures }) =>
      figures?.average_duration_seconds == null ? (
        '–'
      ) : (
        <Duration ms={figures.average_duration_seconds * 1000} />
      ),
  },
  {
    id: 'account',
    header: 'Account',
    width: 160,
    cell: ({ external_account_id }) => <span className="mono cut">{external_account_id}</span>,
  },
];

function LastSync({ row }: { row: Row }) {
  if (!row.enabled) return <StatusChip status="disabled" />;
  if (row.last_sync === null) return <span className="dim">never synced</span>;
  return <StatusChip status={row.last_sync.status} of="sync" />;
}

/** A tick is looked for every few seconds, so a minute past it something holds it up. */
const lateAfterMs = 60_000;

function Next({ row }: { row: Row }) {
  if (!row.enabled) return <span className="dim">off</span>;
  const isLate = row.next_sync_at !== null && Date.now() - Date.parse(row.next_sync_at) > lateAfterMs;
  return isLate ? (
    <span className="row">
      <StatusChip status="late" /> <Ago at={row.next_sync_at} />
    </span>
  ) : (
    <Ago at={row.next_sync_at} />
  );
}

/** Why the last sync waits or failed. */
function Why({ row: { last_sync } }: { row: Row }) {
  if (last_sync === null) return null;
  const { waiting_for, error_message } = last_sync;
  const words = waiting_for === null ? error_message : `Waits ${waitWords(waiting_for)}`;
  return words === null ? null : (
    <span className="cut" title={words}>
      {words}
    </span>
  );
}

function NoConnectors({ q, button }: { q: string | undefined; button: React.ReactNode }) {
  if (q !== undefined) return <Empty sentence={`No connector matches “${q}”.`} />;
  return (
    <Empty
      sentence="No connector yet. Enrol an Airbyte connection to sync it on schedule, with retries and a history."
      sample={['Shop orders', 'done', '12 min ago', 'every 6 h', '12,480 records']}
      button={button}
      command="sluice sync now <connector-id>"
    />
  );
}

import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { AdapterFile } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { useAction } from '../../parts/action.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { bytes } from '../../parts/number.ts';
import { statusLook } from '../../parts/status.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { adapterSearch, fileStates } from './search.ts';

const rowKey = ({ file_id }: AdapterFile) => file_id;

/** `seenAt`: when the last scan ended; the list is then loaded again. */
export function Files({ name, seenAt }: { name: string; seenAt: string | null }) {
  const [{ state }, change] = useListState(adapterSearch);
  const list = useKeysetList({
    queryKey: ['adapters', 'files', name, state ?? null],
    fetchPage: (cursor, signal) =>
      api.get('/api/ingestion/adapters/{name}/files', {
        path: { name },
        query: { state, cursor, limit: 100 },
        signal,
      }),
    rowKey,
    announcesNew: false,
  });
  useAskAgain(name, seenAt);
  const columns = useColumns(name);
  return (
    <>
      <FilterBar isFiltered={state !== undefined} onReset={() => change({ state: undefined })}>
        <FilterSelect
          label="State"
          value={state}
          all="All files"
          options={fileStates.map((value) => ({ value, label: statusLook(value).word }))}
          onChange={(value) => change({ state: value })}
        />
      </FilterBar>
      <KeysetTable
        label="Files"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        empty={
          <Empty
            sentence={
              state === undefined
                ? 'No file found yet. A file is taken in after two scans find it unchanged.'
                : 'No file is in this state.'
            }
          />
        }
        list={list}
        noun="files"
      />
    </>
  );
}

function useAskAgain(name: string, seenAt: string | null): void {
  const client = useQueryClient();
  useEffect(() => {
    if (seenAt !== null) void client.invalidateQueries({ queryKey: ['adapters', 'files', name] });
  }, [client, name, seenAt]);
}

function useColumns(name: string): Column<AdapterFile>[] {
  const mayRetry = useCan('adapter.scan');
  const { run } = useAction({
    run: (file: AdapterFile) =>
      api.post('/api/ingestion/adapters/{name}/files/{file_id}/retry', {
        path: { name, file_id: file.file_id },
      }),
    done: (file) => `${file.path} will be retried by the next scan, in a moment.`,
    touches: ['adapters'],
  });
  return useMemo(
    () => [
      ...columns,
      {
        id: 'retry',
        header: '',
        width: 90,
        cell: (file) =>
          file.state === 'failed' && mayRetry ? (
            <Button variant="subtle" size="compact-xs" onClick={() => run(file)}>
              Retry file
            </Button>
          ) : null,
      },
    ],
    [mayRetry, run],
  );
}

const columns: Column<AdapterFile>[] = [
  {
    id: 'path',
    header: 'File',
    width: 240,
    cell: ({ path, moved_to: movedTo }) => (
      <span className="cut" title={movedTo === null ? path : `${path}, now in ${movedTo}`}>
        {movedTo ?? path}
      </span>
    ),
  },
  { id: 'state', header: 'State', width: 120, cell: ({ state }) => <StatusChip status={state} /> },
  { id: 'size', header: 'Size', width: 90, align: 'end', cell: ({ size_bytes }) => bytes(size_bytes) },
  {
    id: 'at',
    header: 'Since',
    width: 110,
    cell: ({ finished_at, found_at }) => <Ago at={finished_at ?? found_at} />,
  },
  { id: 'made', header: 'Became', width: 90, cell: (file) => <Made file={file} /> },
  {
    id: 'why',
    header: 'Why',
    cell: ({ reason, reason_code: code }) => (
      <span className="cut" title={reason ?? ''}>
        {reason} <span className="dim mono small">{code}</span>
      </span>
    ),
  },
];

function Made({ file: { jobId, uploadId } }: { file: AdapterFile }) {
  if (uploadId !== null) return <To href={`/uploads/${uploadId}`}>upload</To>;
  if (jobId !== null) return <To href={`/items/${jobId}`}>items</To>;
  return <span className="dim">–</span>;
}

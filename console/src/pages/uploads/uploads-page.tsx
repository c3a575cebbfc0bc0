import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Upload } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { statusLook } from '../../parts/status.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { useWorkspace } from '../../shell/workspace.ts';
import { DropZone } from './drop-zone.tsx';
import { handOver } from './handed-file.ts';
import { titleOf, usePlatformChoices } from './platforms.ts';
import { rejectedRows } from './rejected-rows.ts';
import { type UploadsSearch, uploadsSearch } from './search.ts';
import { chipOf, nameOf, uploadStatuses } from './upload-states.ts';
import './uploads.css';

const rowKey = (upload: Upload) => upload.upload_id;

export default function UploadsPage() {
  const [state, change] = useListState(uploadsSearch);
  const [workspaceId] = useWorkspace();
  const canUpload = useCan('upload.create');
  const filters = useMemo(() => filtersOf(state, workspaceId), [state, workspaceId]);
  const list = useKeysetList({
    queryKey: ['uploads', 'list', filters],
    fetchPage: (cursor, signal) =>
      api.get('/api/uploads', {
        query: { ...filters, ...(cursor === undefined ? {} : { cursor }), limit: 50 },
        signal,
      }),
    rowKey,
  });
  const isFiltered = Object.values(state).some((value) => value !== undefined);
  return (
    <ListPage
      title="Uploads"
      actions={<ListActions canUpload={canUpload} />}
      notice={canUpload ? <ListDropZone /> : null}
      filters={<UploadFilters state={state} change={change} isFiltered={isFiltered} />}
      label="Uploads, newest first"
      columns={columns}
      rows={list.rows}
      rowKey={rowKey}
      href={(upload) => `/uploads/${upload.upload_id}`}
      empty={<NoUploads isFiltered={isFiltered} canUpload={canUpload} />}
      list={list}
      noun="uploads"
    />
  );
}

function filtersOf({ status, platform, q }: Partial<UploadsSearch>, workspaceId: string | undefined) {
  return {
    ...(status === undefined ? {} : { status }),
    ...(platform === undefined ? {} : { platform }),
    ...(q === undefined ? {} : { filename: q }),
    ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
  };
}

function ListActions({ canUpload }: { canUpload: boolean }) {
  return (
    <div className="row">
      <Button component={Link} to="/uploads/platforms" variant="default">
        Platforms
      </Button>
      <Button component={Link} to="/uploads/sources" variant="default">
        Sources
      </Button>
      {canUpload ? <NewUploadButton /> : null}
    </div>
  );
}

function NewUploadButton() {
  return (
    <Button component={Link} to="/uploads/new">
      New upload
    </Button>
  );
}

function ListDropZone() {
  const navigate = useNavigate();
  const take = (file: File) => {
    handOver(file);
    void navigate({ to: '/uploads/new' });
  };
  return <DropZone file={null} onFile={take} isCompact />;
}

function UploadFilters(props: {
  state: Partial<UploadsSearch>;
  change: (changes: Partial<UploadsSearch>) => void;
  isFiltered: boolean;
}) {
  const { state, change, isFiltered } = props;
  const platformChoices = usePlatformChoices();
  // Undefined takes a parameter out of the link.
  const set = (changes: { [K in keyof UploadsSearch]?: UploadsSearch[K] | undefined }) =>
    change(changes as Partial<UploadsSearch>);
  return (
    <FilterBar
      isFiltered={isFiltered}
      onReset={() => set({ status: undefined, platform: undefined, q: undefined })}
    >
      <FilterSelect
        label="State"
        value={state.status}
        all="All states"
        options={uploadStatuses.map((value) => ({ value, label: statusLook(value).word }))}
        onChange={(status) => set({ status })}
      />
      <FilterSelect
        label="Platform"
        value={state.platform}
        all="All platforms"
        options={platformChoices}
        onChange={(platform) => set({ platform })}
      />
      <FilterText label="Part of the file name" value={state.q} onChange={(q) => set({ q })} />
    </FilterBar>
  );
}

function NoUploads({ isFiltered, canUpload }: { isFiltered: boolean; canUpload: boolean }) {
  if (isFiltered) return <Empty sentence="No upload matches these filters." />;
  const sample = ['march.csv', 'Meta Ads', 'done', '350,112 rows = 350,090 promoted + 22 rejected'];
  return canUpload ? (
    <Empty
      sentence="No upload yet. Upload a report of Meta, Google or TikTok to get campaigns, ads and daily figures."
      sample={sample}
      button={<NewUploadButton />}
      command="sluice upload march.csv --platform meta"
    />
  ) : (
    <Empty
      sentence="No upload yet. Ask a member or an admin of your tenant to upload an ad report."
      sample={sample}
    />
  );
}

const columns: readonly Column<Upload>[] = [
  { id: 'file', header: 'File', cell: (upload) => <span title={nameOf(upload)}>{nameOf(upload)}</span> },
  { id: 'state', header: 'State', width: 190, cell: (upload) => <StatusChip {...chipOf(upload)} /> },
  { id: 'platform', header: 'Platform', width: 110, cell: ({ platform }) => titleOf(platform) },
  {
    id: 'rows',
    header: 'Rows',
    width: 90,
    align: 'end',
    cell: ({ total_rows: rows }) => <span className="num">{rows === 0 ? '–' : count(rows)}</span>,
  },
  {
    id: 'promoted',
    header: 'Promoted',
    width: 90,
    align: 'end',
    cell: (upload) => <PromotedCount upload={upload} />,
  },
  {
    id: 'rejected',
    header: 'Rejected',
    width: 90,
    align: 'end',
    cell: (upload) => <RejectedCount upload={upload} />,
  },
  { id: 'who', header: 'By', width: 130, cell: ({ created_by: who }) => <span title={who}>{who}</span> },
  { id: 'when', header: 'When', width: 110, cell: ({ created_at: at }) => <Ago at={at} /> },
];

function PromotedCount({ upload }: { upload: Upload }) {
  return <span className="num">{upload.row_count === null ? '–' : count(upload.promoted_rows)}</span>;
}

function RejectedCount({ upload }: { upload: Upload }) {
  const rejected = rejectedRows(upload);
  if (rejected === 0) return <span className="dim">{upload.total_rows === 0 ? '–' : '0'}</span>;
  return (
    <span className="num toned" data-tone="failed">
      {count(rejected)}
    </span>
  );
}

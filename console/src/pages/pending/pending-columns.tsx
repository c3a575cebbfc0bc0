import type { Reply } from '../../api/client.ts';
import { Id } from '../../parts/command.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { ProgressPill } from '../items/progress-pill.tsx';

export type PendingRow = Reply<'/api/pending'>['data'][number];

const jobTypeWords: Record<string, string> = { csv: 'rows', image: 'images' };

export const pendingColumns: readonly Column<PendingRow>[] = [
  { id: 'id', header: 'Item ID', width: 84, cell: ({ id }) => <span className="num">{id}</span> },
  { id: 'job', header: 'Job ID', width: 100, cell: ({ jobId }) => <Id value={jobId} /> },
  { id: 'title', header: 'Title / Brand', cell: (row) => <Title row={row} /> },
  { id: 'status', header: 'Status', width: 112, cell: ({ status }) => <StatusChip status={status} /> },
  {
    id: 'attempts',
    header: 'Attempts',
    width: 78,
    align: 'end',
    cell: ({ attempts }) => <span className="num">{attempts}</span>,
  },
  {
    id: 'locked',
    header: 'Locked by',
    width: 88,
    cell: ({ lockedBy }) => (
      <span className="mono" title={lockedBy ?? ''}>
        {lockedBy === null ? '–' : lockedBy.slice(-8)}
      </span>
    ),
  },
  { id: 'updated', header: 'Updated', width: 96, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
  {
    id: 'type',
    header: 'Type',
    width: 66,
    cell: ({ jobType }) => (
      <span className="chip" data-tone="queued">
        {jobTypeWords[jobType] ?? jobType}
      </span>
    ),
  },
  {
    id: 'progress',
    header: 'Its job',
    width: 176,
    cell: ({ progress }) => <ProgressPill {...progress} isMoving />,
  },
  { id: 'go', header: '', width: 88, cell: ({ jobId }) => <To href={`/items/${jobId}`}>Go to job</To> },
];

/** What the row is about: its title and brand where it has them, otherwise its first columns. */
function Title({ row: { inputSummary } }: { row: PendingRow }) {
  const { title, brand, sku, first } = inputSummary;
  const known = [title, brand, title === null ? sku : null].filter((text) => text !== null);
  const words = known.length > 0 ? known : first.map(({ name, value }) => `${name} ${value}`);
  return <span title={words.join(' · ')}>{words.join(' · ')}</span>;
}

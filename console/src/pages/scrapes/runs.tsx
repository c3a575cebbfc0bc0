import { api } from '../../api/client.ts';
import type { ScrapeRun } from '../../api/types.ts';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';

const rowKey = (run: ScrapeRun) => run.scrape_run_id;
const hrefOf = (run: ScrapeRun) =>
  `/scrapes/${encodeURIComponent(run.source)}?tab=handoffs&run=${run.scrape_run_id}`;

export function Runs({ source }: { source: string }) {
  const list = useKeysetList({
    queryKey: ['scrapes', 'runs', source],
    fetchPage: (cursor, signal) =>
      api.get('/api/scraping/{source}/runs', { path: { source }, query: { cursor, limit: 50 }, signal }),
    rowKey,
  });
  return (
    <KeysetTable
      label="Runs"
      columns={columns}
      rows={list.rows}
      rowKey={rowKey}
      href={hrefOf}
      empty={<Empty sentence="No run yet. Push references, or start a crawl." />}
      list={list}
      noun="runs"
    />
  );
}

const columns: Column<ScrapeRun>[] = [
  { id: 'at', header: 'Started', width: 110, cell: ({ started_at }) => <Ago at={started_at} /> },
  { id: 'status', header: 'State', width: 110, cell: ({ status }) => <StatusChip status={status} /> },
  {
    id: 'took',
    header: 'Took',
    width: 80,
    align: 'end',
    cell: ({ started_at, finished_at }) => <Duration from={started_at} to={finished_at} />,
  },
  {
    id: 'references',
    header: 'References',
    width: 310,
    cell: (run) => (
      <span className="num">
        {count(run.references_persisted)} = {count(run.references_created)} new +{' '}
        {count(run.references_changed)} changed +{' '}
        {count(run.references_persisted - run.references_created - run.references_changed)} same
      </span>
    ),
  },
  {
    id: 'handoffs',
    header: 'Hand-offs',
    width: 260,
    cell: (run) => run.handoff_notice ?? <HandoffCounts run={run} />,
  },
  { id: 'why', header: 'What happened', cell: (run) => <WhatHappened run={run} /> },
];

function HandoffCounts({ run }: { run: ScrapeRun }) {
  const parts = [
    [run.handoff_queued_count, 'queued'],
    [run.handoff_completed_count, 'done'],
    [run.handoff_failed_count, 'failed'],
    [run.handoff_skipped_count, 'unchanged'],
  ] as const;
  const total = parts.reduce((sum, [value]) => sum + value, 0);
  const shown = parts.filter(([value]) => value > 0).map(([value, word]) => `${count(value)} ${word}`);
  return (
    <span className="num">
      {count(total)}
      {shown.length === 0 ? '' : ` = ${shown.join(' + ')}`}
    </span>
  );
}

function WhatHappened({ run }: { run: ScrapeRun }) {
  return (
    <span className="cut">
      {run.error_text}
      {run.pages_failed > 0 ? ` ${count(run.pages_failed)} pages could not be read.` : ''}
      {run.is_complete === false && run.error_text === null
        ? ' Not every page was read; nothing was removed.'
        : ''}{' '}
      {run.job_id === null ? null : <To href={`/jobs/${run.job_id}`}>job</To>}
    </span>
  );
}

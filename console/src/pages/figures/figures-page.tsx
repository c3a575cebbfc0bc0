import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api, urlOf } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { FigureGroup } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { Icon } from '../../parts/icons.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { useWorkspace } from '../../shell/workspace.ts';
import { figureText, figureTitles, groupingTitles, groupName, groupParents } from './figure-words.ts';
import { FiguresChart } from './figures-chart.tsx';
import { FiguresFilters, isFiltered } from './figures-filters.tsx';
import { type FigureQuery, totalsQuery } from './figures-query.ts';
import { LineageDrawer } from './lineage-drawer.tsx';
import { type FiguresState, figures, figuresSearch, type Grouping } from './search.ts';
import { Totals } from './totals.tsx';
import './figures.css';

const rowKey = ({ key, currency, date_from: from, date_to: to }: FigureGroup) =>
  [key, currency, from, to].join(' ');

/** What uploads brought: totals, a chart, groups, and the way from each figure to its line. */
export default function FiguresPage() {
  const [state, change] = useListState(figuresSearch);
  const [workspaceId] = useWorkspace();
  const query = useMemo(() => queryOf(state, workspaceId), [state, workspaceId]);
  const by = query.group_by ?? 'day';
  const totals = useQuery(totalsQuery(query)).data;
  const list = useKeysetList<FigureGroup>({
    queryKey: ['uploads', 'figures', 'groups', query],
    fetchPage: (cursor, signal) =>
      api.get('/api/data/summary', {
        query: { ...query, ...(cursor === undefined ? {} : { cursor }), limit: 100 },
        signal,
      }),
    rowKey,
    announcesNew: false,
  });
  const columns = useMemo(() => columnsOf(by), [by]);
  const isEmpty = !list.isLoading && list.rows.length === 0;
  return (
    <ListPage
      title="Data"
      sentence="What uploads brought. Currencies are never added together; each figure leads to its upload and line."
      actions={isEmpty ? undefined : <Exports query={query} />}
      notice={<FiguresFilters state={state} change={change} by={by} />}
      filters={
        <>
          {totals === undefined ? null : <Totals summary={totals} />}
          {totals === undefined || query.kind === 'period' ? null : (
            <FiguresChart query={query} totals={totals.totals} figure={state.figure ?? 'spend'} />
          )}
        </>
      }
      label="Figures"
      columns={columns}
      rows={list.rows}
      rowKey={rowKey}
      onOpen={({ lineage }) => change({ behind: lineage.split('?')[1] })}
      empty={<Nothing isFiltered={isFiltered(state)} />}
      list={list}
      noun="groups"
    >
      <LineageDrawer behind={state.behind} onClose={() => change({ behind: undefined })} />
    </ListPage>
  );
}

function queryOf(state: FiguresState, workspaceId: string | undefined): FigureQuery {
  const { client, from, to, platform, campaign, currency, level } = state;
  const kind = state.kind ?? 'daily';
  const by = state.by ?? (kind === 'daily' ? 'day' : 'range');
  const isTime = ['day', 'week', 'month', 'range'].includes(by);
  return {
    kind,
    group_by: by,
    ...(isTime ? {} : { sort: state.figure ?? 'spend', order: 'desc' }),
    workspace_id: workspaceId,
    client_id: client,
    platform,
    campaign,
    currency,
    level,
    from,
    to,
  } as FigureQuery;
}

/** The same figures as a file: the groups that are shown, or every stored row. */
function Exports({ query }: { query: FigureQuery }) {
  const { group_by: _, sort: __, order: ___, ...rows } = query;
  return (
    <>
      <ExportLink label="Export groups (CSV)" query={{ ...query, format: 'csv' }} />
      <ExportLink label="Export rows (CSV)" query={{ ...rows, format: 'csv' }} />
      <ExportLink label="Export rows (Parquet)" query={{ ...rows, format: 'parquet' }} />
    </>
  );
}

function ExportLink({ label, query }: { label: string; query: object }) {
  return (
    <Button
      component="a"
      href={urlOf('/api/data/export', { query })}
      download
      variant="default"
      leftSection={<Icon name="download" />}
    >
      {label}
    </Button>
  );
}

function Nothing({ isFiltered: isNarrow }: { isFiltered: boolean }) {
  const canUpload = useCan('upload.create');
  if (isNarrow) return <Empty sentence="No figures match these filters." />;
  return (
    <Empty
      sentence="There are no figures yet. They appear here when an upload has been promoted."
      sample={['2026-03-01', '12,400 impressions', '310 clicks', '84.20 EUR']}
      button={
        canUpload ? (
          <Button component={Link} to="/uploads/new">
            Upload a report
          </Button>
        ) : undefined
      }
      command="sluice upload report.csv --platform meta"
    />
  );
}

function columnsOf(by: Grouping): Column<FigureGroup>[] {
  const hasParents = by === 'ad_set' || by === 'ad';
  return [
    {
      id: 'group',
      header: groupingTitles[by],
      cell: (group) => <span title={groupName(by, group)}>{groupName(by, group)}</span>,
    },
    ...(hasParents ? [{ id: 'in', header: 'In', cell: groupParents }] : []),
    ...figures.map((figure) => ({
      id: figure,
      header: figureTitles[figure],
      width: figure === 'conversion_value' ? 150 : 124,
      align: 'end' as const,
      cell: (group: FigureGroup) => <span className="num">{figureText(figure, group[figure])}</span>,
    })),
    { id: 'currency', header: 'Currency', width: 84, cell: ({ currency }) => currency ?? '–' },
  ];
}

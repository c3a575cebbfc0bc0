import { SegmentedControl, Tabs } from '@mantine/core';
import { useEffect, useMemo, useRef } from 'react';
import { api } from '../../api/client.ts';
import type {
  Ad,
  AdSet,
  Campaign,
  DailyMetric,
  MetricBreakdown,
  PeriodMetric,
  Upload,
} from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { Panel } from '../../parts/page.tsx';
import {
  adColumns,
  adSetColumns,
  breakdownColumns,
  campaignColumns,
  metricColumns,
  periodColumns,
} from './promoted-columns.tsx';
import { type DataTab, dataTabs, uploadSearch } from './search.ts';

const tabTitles: Record<DataTab, string> = {
  campaigns: 'Campaigns',
  'ad-sets': 'Ad sets',
  ads: 'Ads',
  'daily-metrics': 'Daily figures',
  'period-metrics': 'Figures of longer ranges',
  breakdowns: 'Breakdowns',
};

/** The data itself: what this upload brought, or all of the workspace's for the platform. */
export function PromotedRows({ upload }: { upload: Upload }) {
  const [state, change] = useListState(uploadSearch);
  const tab = state.tab ?? (upload.daily_metrics_upserted > 0 ? 'daily-metrics' : usualTab(upload));
  const scope = state.scope ?? 'upload';
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Somebody followed a figure to its rows.
    if (state.tab !== undefined) place.current?.scrollIntoView({ block: 'nearest' });
  }, [state.tab]);
  return (
    <div ref={place} id="promoted-rows">
      <Panel
        title="Data"
        aside={
          <SegmentedControl
            size="xs"
            aria-label="Whose data"
            value={scope}
            onChange={(value) => change({ scope: value as 'upload' | 'workspace' })}
            data={[
              { value: 'upload', label: 'Of this upload' },
              { value: 'workspace', label: 'Of the workspace' },
            ]}
          />
        }
      >
        <Tabs value={tab} onChange={(value) => change({ tab: value as DataTab })} keepMounted={false}>
          <Tabs.List>
            {dataTabs.map((value) => (
              <Tabs.Tab key={value} value={value}>
                {tabTitles[value]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {dataTabs.map((value) => (
            <Tabs.Panel key={value} value={value} pt="xs">
              <DataList upload={upload} tab={value} isOwn={scope === 'upload'} />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Panel>
    </div>
  );
}

/** A report without days has no daily figures to begin with. */
const usualTab = ({ period_metrics_upserted: ranges }: Upload): DataTab =>
  ranges > 0 ? 'period-metrics' : 'daily-metrics';

type Filters = ReturnType<typeof filtersOf>;
interface ListProps {
  upload: Upload;
  isOwn: boolean;
}

function DataList({ tab, ...props }: ListProps & { tab: DataTab }) {
  switch (tab) {
    case 'campaigns':
      return (
        <DataTable tab={tab} ask={askCampaigns} rowKey={campaignKey} columns={campaignColumns} {...props} />
      );
    case 'ad-sets':
      return <DataTable tab={tab} ask={askAdSets} rowKey={adSetKey} columns={adSetColumns} {...props} />;
    case 'ads':
      return <DataTable tab={tab} ask={askAds} rowKey={adKey} columns={adColumns} {...props} />;
    case 'period-metrics':
      return <DataTable tab={tab} ask={askPeriods} rowKey={periodKey} columns={periodColumns} {...props} />;
    case 'breakdowns':
      return (
        <DataTable
          tab={tab}
          ask={props.upload.affected_dates.length > 0 ? askDailyBreakdowns : askPeriodBreakdowns}
          rowKey={breakdownKey}
          columns={breakdownColumns}
          {...props}
        />
      );
    default:
      return <DataTable tab={tab} ask={askMetrics} rowKey={metricKey} columns={metricColumns} {...props} />;
  }
}

const campaignKey = (row: Campaign) => row.campaign_id;
const adSetKey = (row: AdSet) => row.ad_set_id;
const adKey = (row: Ad) => row.ad_id;
const metricKey = (row: DailyMetric) => String(row.metric_id);
const periodKey = (row: PeriodMetric) => String(row.metric_id);
const breakdownKey = (row: MetricBreakdown) => String(row.breakdown_id);

type Asking = { query: Filters & { cursor?: string; limit: number }; signal: AbortSignal };
const askCampaigns = (asking: Asking) => api.get('/api/campaigns', asking);
const askAdSets = (asking: Asking) => api.get('/api/ad-sets', asking);
const askAds = (asking: Asking) => api.get('/api/ads', asking);
const askMetrics = (asking: Asking) => api.get('/api/daily-metrics', asking);
const askPeriods = (asking: Asking) => api.get('/api/period-metrics', asking);
const askDailyBreakdowns = (asking: Asking) => api.get('/api/daily-metrics/breakdowns', asking);
const askPeriodBreakdowns = (asking: Asking) => api.get('/api/period-metrics/breakdowns', asking);

interface DataTableProps<Row> extends ListProps {
  tab: DataTab;
  ask: (asking: Asking) => Promise<{ data: Row[]; has_more: boolean; next_cursor: string | null }>;
  rowKey: (row: Row) => string;
  columns: readonly Column<Row>[];
}

function DataTable<Row extends object>({ upload, tab, isOwn, ask, rowKey, columns }: DataTableProps<Row>) {
  const filters = useMemo(() => filtersOf(upload, { tab, isOwn }), [upload, tab, isOwn]);
  const list = useKeysetList<Row>({
    queryKey: ['uploads', 'data', tab, filters],
    fetchPage: (cursor, signal) =>
      ask({ query: { ...filters, ...(cursor === undefined ? {} : { cursor }), limit: 50 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const noun = tabTitles[tab].toLowerCase();
  return (
    <KeysetTable
      label={tabTitles[tab]}
      columns={columns}
      rows={list.rows}
      rowKey={rowKey}
      maxHeight="420px"
      empty={<Empty sentence={emptyWords(upload, { noun, isOwn })} />}
      list={list}
      noun={noun}
    />
  );
}

/** The days of an upload narrow its daily metrics down. */
function filtersOf(upload: Upload, { tab, isOwn }: { tab: DataTab; isOwn: boolean }) {
  const place = { workspace_id: upload.workspace_id, platform: upload.platform };
  if (!isOwn) return place;
  const [from, to] = [upload.affected_dates.toSorted()[0], upload.affected_dates.toSorted().at(-1)];
  const isRanged = tab === 'daily-metrics' && from !== undefined && to !== undefined;
  return { ...place, upload_id: upload.upload_id, ...(isRanged ? { from, to } : {}) };
}

function emptyWords({ undone_at: undoneAt }: Upload, { noun, isOwn }: { noun: string; isOwn: boolean }) {
  if (!isOwn) return `There are no ${noun} in this workspace.`;
  if (undoneAt !== null) return `No ${noun} of this upload are left: it was undone.`;
  return `No ${noun} belong to this upload: the file had none, or a newer upload has confirmed or changed them.`;
}

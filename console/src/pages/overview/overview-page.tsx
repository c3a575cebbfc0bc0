import { useQuery } from '@tanstack/react-query';
import { needOf, overviewQuery } from '../../api/needs.ts';
import type { Overview } from '../../api/types.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Ago } from '../../parts/time.tsx';
import { FirstSteps } from './first-steps.tsx';
import { FailuresPanel, LastDay } from './last-day.tsx';
import { NeedsPanel } from './needs-panel.tsx';
import { NowPanel } from './now-panel.tsx';
import './overview.css';
import { UpkeepPanel } from './upkeep-panel.tsx';
import { WorkersPanel } from './workers-panel.tsx';

/** What needs you, what is going on, and how the last day went. */
export default function OverviewPage() {
  const { data, error, refetch } = useQuery(overviewQuery);
  return (
    <Page
      title="Overview"
      state={
        data === undefined ? undefined : (
          <span className="dim small">
            counted <Ago at={data.as_of} />
          </span>
        )
      }
    >
      {error === null ? null : (
        <Problem error={error} isStale={data !== undefined} retry={() => void refetch()} />
      )}
      <NeedsPanel needs={data?.needs_you.map(needOf)} />
      {data !== undefined && isUntouched(data) ? <FirstSteps /> : null}
      <div className="columns">
        <NowPanel now={data?.now} />
        <WorkersPanel />
      </div>
      <LastDay day={data?.last_day} />
      <div className="columns">
        <FailuresPanel day={data?.last_day} />
        <UpkeepPanel />
      </div>
    </Page>
  );
}

function isUntouched({ now, last_day: day }: Overview): boolean {
  return now.jobs.length === 0 && day.succeeded + day.failed + day.canceled === 0;
}

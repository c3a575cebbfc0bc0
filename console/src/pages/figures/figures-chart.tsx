import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { FigureTotal } from '../../api/types.ts';
import { LineChart } from '../../parts/line-chart.tsx';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { chartSeries, chartStep, figureText, figureTitles } from './figure-words.ts';
import { courseQuery, type FigureQuery } from './figures-query.ts';
import type { Figure } from './search.ts';

const dayText = (at: number) => new Date(at).toISOString().slice(0, 10);
const chartsShown = 4;

/** One figure over time. Currencies have no axis in common, so each has a chart of its own. */
export function FiguresChart(props: { query: FigureQuery; totals: readonly FigureTotal[]; figure: Figure }) {
  const { query, totals, figure } = props;
  const from = totals.map((total) => total.date_from).toSorted()[0];
  const to = totals
    .map((total) => total.date_to)
    .toSorted()
    .at(-1);
  if (from === undefined || to === undefined || from === to) return null;
  return <Course query={query} figure={figure} step={chartStep(from, to)} />;
}

function Course({ query, figure, step }: { query: FigureQuery; figure: Figure; step: 'day' | 'week' }) {
  const { data, error, refetch } = useQuery(courseQuery(query, step));
  const title = `${figureTitles[figure]} by ${step}`;
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />;
  const lines = data === undefined ? [] : chartSeries(data.data, { figure, step });
  return (
    <Panel
      title={title}
      aside={data?.has_more ? <span className="dim small">the first 500 points</span> : undefined}
    >
      {data === undefined ? <Skeleton height={140} /> : null}
      <div className="stack">
        {lines.slice(0, chartsShown).map(({ currency, points }) => (
          <LineChart
            key={currency}
            label={`${title}, ${currency ?? 'no currency'}`}
            unit={currency ?? 'no currency'}
            series={[{ label: figureTitles[figure], points, tone: 'done' }]}
            timeText={dayText}
            valueText={(value) => figureText(figure, value)}
          />
        ))}
      </div>
    </Panel>
  );
}

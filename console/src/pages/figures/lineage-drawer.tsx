import { Drawer, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { FigureLineage } from '../../api/types.ts';
import { count, plural } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';
import { To } from '../../parts/to.tsx';
import { figureText } from './figure-words.ts';
import { lineageQuery } from './figures-query.ts';

/** Where figures came from: the uploads that they consist of, then every stored row with its lines. */
export function LineageDrawer({ behind, onClose }: { behind: string | undefined; onClose: () => void }) {
  const { data, error, refetch } = useQuery(lineageQuery(behind));
  return (
    <Drawer
      opened={behind !== undefined}
      onClose={onClose}
      position="right"
      size="xl"
      title="Where these figures came from"
    >
      {error === null ? null : <Problem error={error} retry={() => void refetch()} />}
      {data === undefined && error === null ? <Skeleton height={200} /> : null}
      {data === undefined ? null : (
        <div className="stack">
          <h3>{plural(data.uploads.length, 'upload')}</h3>
          <ul className="notes figure-sources">
            {data.uploads.map((source) => (
              <li key={`${source.upload_id} ${source.currency}`}>
                <To href={`/uploads/${source.upload_id}`}>{source.filename ?? source.upload_id}</To>
                {`: ${plural(source.rows, 'row')}, spend ${figureText('spend', source.spend)} ${source.currency ?? ''}`}
              </li>
            ))}
          </ul>
          <Rows rows={data.data} hasMore={data.has_more} />
        </div>
      )}
    </Drawer>
  );
}

function Rows({ rows, hasMore }: { rows: readonly FigureLineage[]; hasMore: boolean }) {
  return (
    <>
      <h3>{hasMore ? `The first ${count(rows.length)} stored rows` : plural(rows.length, 'stored row')}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <div className="figure-rows" tabIndex={0}>
        <table aria-label="Stored rows">
          <thead>
            <tr>
              <th scope="col">Day or range</th>
              <th scope="col">Of</th>
              <th scope="col" data-align="end">
                Spend
              </th>
              <th scope="col" data-align="end">
                Impressions
              </th>
              <th scope="col">Line</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.metric_id} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Row({ row }: { row: FigureLineage }) {
  const { date_from: from, date_to: to, currency } = row;
  const names = [
    row.campaign_name ?? row.campaign_external_id,
    row.ad_set_name ?? row.ad_set_external_id,
    row.ad_name ?? row.ad_external_id,
  ].filter((name) => name !== null);
  return (
    <tr>
      <td className="num">{from === to ? from : `${from} – ${to}`}</td>
      <td>{names.join(' › ')}</td>
      <td className="num" data-align="end">
        {figureText('spend', row.spend)} {currency ?? ''}
      </td>
      <td className="num" data-align="end">
        {figureText('impressions', row.impressions)}
      </td>
      <td>
        <Lines row={row} />
      </td>
    </tr>
  );
}

const linesShown = 5;

function Lines({ row }: { row: FigureLineage }) {
  if (row.lines.length === 0) return <To href={`/uploads/${row.upload_id}`}>{row.filename ?? 'upload'}</To>;
  const more = row.line_count - Math.min(linesShown, row.lines.length);
  return (
    <span className="row">
      {row.lines.slice(0, linesShown).map(({ upload_id: id, line }) => (
        <To
          key={`${id} ${line}`}
          href={`/uploads/${id}?line=${line}`}
          title={id === row.upload_id ? (row.filename ?? id) : id}
        >
          line {line}
        </To>
      ))}
      {more > 0 ? <span className="dim">and {count(more)} more</span> : null}
    </span>
  );
}

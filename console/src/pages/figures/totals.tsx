import type { Reply } from '../../api/client.ts';
import type { FigureTotal } from '../../api/types.ts';
import { Icon } from '../../parts/icons.tsx';
import { plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { figureTitles, figureWithUnit } from './figure-words.ts';
import { figures } from './search.ts';

/** Over all groups: one line per currency, and per range where the reports have no days. */
export function Totals({ summary: { totals, notes } }: { summary: Reply<'/api/data/summary'> }) {
  if (totals.length === 0) return null;
  return (
    <Panel title="Totals">
      <div className="stack">
        {totals.map((total) => (
          <TotalLine key={`${total.currency} ${total.date_from} ${total.date_to}`} total={total} />
        ))}
        {notes.map(({ code, message }) => (
          <p key={code} className="row figure-note">
            <Icon name="alert" />
            <span>
              {message} <code className="dim">{code}</code>
            </span>
          </p>
        ))}
      </div>
    </Panel>
  );
}

function TotalLine({ total }: { total: FigureTotal }) {
  const { currency, date_from: from, date_to: to, rows } = total;
  return (
    <div>
      <p className="dim small num">
        {currency ?? 'No currency'} · {from === to ? from : `${from} – ${to}`} · {plural(rows, 'stored row')}
      </p>
      <dl className="figure-totals">
        {figures.map((figure) => (
          <div key={figure}>
            <dt className="dim small">{figureTitles[figure]}</dt>
            <dd className="big num">{figureWithUnit(figure, total)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

import type { Upload } from '../../api/types.ts';
import { Icon } from '../../parts/icons.tsx';
import { fieldTitle } from './report-fields.ts';

/** Whether the sums of the file agree with what was stored: one line with a tick, or the differences. */
export function ReconciliationLine({ upload: { reconciliation } }: { upload: Upload }) {
  if (reconciliation === null) return null;
  const figures = Object.entries(reconciliation.figures);
  if (figures.length === 0) return null;
  const differences = figures.flatMap(([field, { difference }]) =>
    difference === null ? [] : [`${fieldTitle(field)}: ${difference}`],
  );
  return (
    <div className="reconciliation" data-agrees={reconciliation.agrees}>
      <p className="row">
        <Icon name={reconciliation.agrees ? 'check' : 'alert'} />
        <span>
          <b>{reconciliation.agrees ? 'The sums agree' : 'The sums differ'}</b>{' '}
          <span className="dim small num">
            {figures.map(([field, { lines }]) => `${fieldTitle(field)} ${shown(lines)}`).join(' · ')}
          </span>
        </span>
      </p>
      {differences.length === 0 ? null : (
        <ul className="notes">
          {differences.map((words) => (
            <li key={words}>{words}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Digits in groups; the text is exact and may be longer than a number can be. */
function shown(sum: string | null): string {
  if (sum === null) return '–';
  const [whole = '', fraction] = sum.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

import { balanced, type CountPart } from './count-parts.ts';
import { count } from './number.ts';

interface CountSumProps {
  total: number;
  /** What is counted: "rows". */
  noun?: string;
  parts: readonly CountPart[];
  /** Parts of zero are left out of the sentence unless asked for. */
  showsZero?: boolean;
  withBar?: boolean;
}

/** "1,204 rows = 1,180 done + 19 not found + 5 errors", and the same as a bar. What is missing is said, not hidden. */
export function CountSum({ total, noun, parts, showsZero = false, withBar = true }: CountSumProps) {
  const shown = balanced(total, parts).filter(({ value }) => showsZero || value !== 0);
  return (
    <div className="counts">
      <p>
        <b>{count(total)}</b>
        {noun === undefined ? '' : ` ${noun}`}
        {shown.length === 0 ? null : ' = '}
        {shown.map(({ label, value, tone }, index) => (
          <span key={label}>
            {index === 0 ? null : ' + '}
            <b data-tone={tone}>{count(value)}</b> {label}
          </span>
        ))}
      </p>
      {withBar && total > 0 ? <CountBar total={total} parts={shown} /> : null}
    </div>
  );
}

export function CountBar({ total, parts }: { total: number; parts: readonly CountPart[] }) {
  const label = parts.map((part) => `${count(part.value)} ${part.label}`).join(', ');
  return (
    <div className="count-bar" role="img" aria-label={label}>
      {parts.map((part) => (
        <span
          key={part.label}
          data-tone={part.tone}
          title={`${count(part.value)} ${part.label}`}
          style={{ flexGrow: total === 0 ? 0 : part.value / total }}
        />
      ))}
    </div>
  );
}

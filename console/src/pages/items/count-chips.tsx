import { Icon } from '../../parts/icons.tsx';
import { count } from '../../parts/number.ts';
import { statusLook } from '../../parts/status.ts';
import { type ItemJob, itemParts } from './item-job.ts';
import type { ItemStatus } from './item-status.ts';

interface CountChipsProps {
  job: Pick<ItemJob, 'counts' | 'totalItems'>;
  chosen: ItemStatus[] | undefined;
  onChange: (statuses: ItemStatus[] | undefined) => void;
}

/** "1,204 rows = 1,180 done + 19 not found + 5 errors", each of which filters the rows below. */
export function CountChips({ job, chosen = [], onChange }: CountChipsProps) {
  const parts = itemParts(job.counts).filter(({ value, status }) => value > 0 || chosen.includes(status));
  const toggle = (status: ItemStatus) => {
    const next = chosen.includes(status) ? chosen.filter((one) => one !== status) : [...chosen, status];
    onChange(next.length === 0 ? undefined : next);
  };
  return (
    <fieldset className="count-chips">
      <legend className="grid-hidden">Filter rows by state</legend>
      <button
        type="button"
        className="chip"
        data-tone="you"
        aria-pressed={chosen.length === 0}
        onClick={() => onChange(undefined)}
      >
        <b>{count(job.totalItems)}</b> rows
      </button>
      {parts.map(({ status, label, value, tone }, index) => (
        <span key={status} className="row">
          <span className="dim">{index === 0 ? '=' : '+'}</span>
          <button
            type="button"
            className="chip"
            data-tone={tone}
            aria-pressed={chosen.includes(status)}
            onClick={() => toggle(status)}
          >
            <Icon name={statusLook(status).icon} size={13} />
            <b>{count(value)}</b> <span className="chip-word">{label}</span>
          </button>
        </span>
      ))}
    </fieldset>
  );
}

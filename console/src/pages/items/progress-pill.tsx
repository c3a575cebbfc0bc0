import { count } from '../../parts/number.ts';
import { ProgressBar } from '../../parts/progress.tsx';

/** "1,180 of 1,204" with a bar, small enough for a cell. */
export function ProgressPill(props: { processed: number; total: number; isMoving?: boolean }) {
  const { processed, total, isMoving = false } = props;
  const label = `${count(processed)} of ${count(total)}`;
  return (
    <span className="cell-progress" title={`${label} rows have ended`}>
      <ProgressBar done={processed} total={total} label={`${label} rows`} isMoving={isMoving} />
      <span className="num small">{label}</span>
    </span>
  );
}

import { useEffect, useRef, useState } from 'react';
import { Eta } from './eta.ts';
import { durationText } from './moments.ts';
import { count, rate, share } from './number.ts';
import { useNow } from './time.tsx';

interface ProgressProps {
  done: number;
  /** Null while nobody knows: then a count with a rate is all that is said. */
  total: number | null;
  noun: string;
  /** Only what moves has a rate and an end. */
  isMoving: boolean;
  /** False where a bar of parts above it says the same. */
  withBar?: boolean;
}

/** A bar when the total is known, otherwise a count with a rate. The time left is said only once it is stable. */
export function Progress({ done, total, noun, isMoving, withBar = true }: ProgressProps) {
  const { perSecond, leftMs } = useEta({ done, total, isMoving });
  const words = [
    total === null ? `${count(done)} ${noun} so far` : `${count(done)} of ${count(total)} ${noun}`,
    total === null ? null : share(done, total),
    isMoving && perSecond !== null ? rate(perSecond) : null,
    isMoving && leftMs !== null ? `about ${durationText(leftMs)} left` : null,
  ].filter((word) => word !== null);
  return (
    <div className="progress">
      {withBar ? (
        <ProgressBar done={done} total={total} label={words.join(', ')} isMoving={isMoving} />
      ) : null}
      <span className="num">{words.join(' · ')}</span>
    </div>
  );
}

export function ProgressBar(props: {
  done: number;
  total: number | null;
  label: string;
  isMoving?: boolean;
}) {
  const { done, total, label, isMoving = false } = props;
  if (total === null || total <= 0) return null;
  return (
    <div
      className="progress-bar"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={Math.min(done, total)}
      data-moving={isMoving || undefined}
    >
      <span style={{ width: `${Math.min(100, (done / total) * 100)}%` }} />
    </div>
  );
}

/** Rate and time left of a count that comes in anew every now and then. */
function useEta({ done, total, isMoving }: { done: number; total: number | null; isMoving: boolean }) {
  const eta = useRef(new Eta());
  const [known, setKnown] = useState<{ perSecond: number | null; endsAtMs: number | null }>({
    perSecond: null,
    endsAtMs: null,
  });
  const now = useNow();
  useEffect(() => {
    if (!isMoving) return;
    eta.current.add(done, { total, atMs: now });
    setKnown({ perSecond: eta.current.perSecond, endsAtMs: eta.current.endsAtMs });
  }, [done, total, isMoving, now]);
  return {
    perSecond: known.perSecond,
    leftMs: known.endsAtMs === null ? null : Math.max(0, known.endsAtMs - now),
  };
}

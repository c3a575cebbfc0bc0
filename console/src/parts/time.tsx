import { useEffect, useState } from 'react';
import { agoText, clockText, durationText, exactText } from './moments.ts';

type Moment = string | number | Date;

const tickMs = 1_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/** One clock for the whole page: a table of a thousand times must not have a thousand timers. */
export function useNow(everyMs = tickMs): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const listener = () => setNow((before) => (Date.now() - before >= everyMs - 50 ? Date.now() : before));
    listeners.add(listener);
    timer ??= setInterval(() => {
      for (const each of [...listeners]) each();
    }, tickMs);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0 || timer === null) return;
      clearInterval(timer);
      timer = null;
    };
  }, [everyMs]);
  return now;
}

/** "3 min ago" or "in 2 h", growing by itself; pointing at it shows the exact time. */
export function Ago({ at, empty = '–' }: { at: Moment | null | undefined; empty?: string }) {
  const now = useNow();
  if (at === null || at === undefined) return <span className="dim">{empty}</span>;
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={exactText(date)}>
      {agoText(date.getTime(), now)}
    </time>
  );
}

/** "14:05", or with the day when it is another one. */
export function Clock({ at }: { at: Moment }) {
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={exactText(date)}>
      {clockText(date, new Date())}
    </time>
  );
}

/** From a start to an end, or to now while there is none; or a known length. */
export function Duration(props: { ms: number } | { from: Moment | null; to?: Moment | null }) {
  const now = useNow();
  if ('ms' in props) return <span className="num">{durationText(props.ms)}</span>;
  if (props.from === null) return <span className="dim">–</span>;
  const end = props.to === null || props.to === undefined ? now : new Date(props.to).getTime();
  return <span className="num">{durationText(end - new Date(props.from).getTime())}</span>;
}

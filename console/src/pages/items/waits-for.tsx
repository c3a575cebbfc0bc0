import { Ago } from '../../parts/time.tsx';
import type { GridRow } from './rows-api.ts';

const words: Record<string, string> = {
  retry: 'waits for another try',
  throttled: 'throttled, waits for another try',
  not_found: 'waits for another way to ask',
  provider_pause: 'waits, as its provider asked',
  provider_down: 'waits until its provider is back',
  budget: 'waits for more budget of its provider',
};

/** What a pending row waits for, and until when; nothing for a row that does not wait. */
export function WaitsFor({ row: { waitingFor, nextAttemptAt } }: { row: GridRow }) {
  const what = words[waitingFor ?? ''] ?? '';
  if (what === '' && nextAttemptAt === null) return null;
  return (
    <>
      {what === '' ? 'again' : `${what}, again`} {nextAttemptAt === null ? null : <Ago at={nextAttemptAt} />}
    </>
  );
}

import type { Socket } from 'node:net';
import type pg from 'pg';
import type { TransactionContext } from '../db.ts';

/** Ends the connection at the limit or the signal; the statement that waits on it then fails as unavailable. */
export function watchConnection(
  client: pg.PoolClient,
  { limitMs, signal, settings }: Pick<TransactionContext, 'limitMs' | 'signal' | 'settings'>,
  silenceMs: number | undefined,
): () => void {
  const unwatchSilence =
    silenceMs === undefined || settings?.statement_timeout === '0'
      ? () => {}
      : watchSilence(client, silenceMs);
  if (limitMs === undefined && signal === undefined) return unwatchSilence;
  // The pool's type leaves `end` out, because it is for emergencies such as this one.
  const end = (): void => void (client as unknown as pg.Client).end().catch(() => {});
  const timer = limitMs === undefined ? undefined : setTimeout(end, limitMs);
  signal?.addEventListener('abort', end, { once: true });
  return () => {
    unwatchSilence();
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  };
}

/** When a network is cut silently, no response ever comes, and the process would wait for ever. */
function watchSilence(client: pg.PoolClient, silenceMs: number): () => void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  const end = (): void => void stream.destroy();
  stream.setTimeout(silenceMs, end);
  return () => {
    stream.setTimeout(0);
    stream.removeListener('timeout', end);
  };
}

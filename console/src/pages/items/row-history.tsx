import type { ReactNode } from 'react';
import { statusLook } from '../../parts/status.ts';
import { Ago } from '../../parts/time.tsx';
import type { ItemJob } from './item-job.ts';
import type { ProviderCall } from './row-drawer.tsx';
import type { WholeRow } from './rows-api.ts';

interface Entry {
  key: string;
  at: string;
  what: ReactNode;
}

/** The history of a row, newest first: read, claimed, called, ended. */
export function RowHistory({
  job,
  row,
  calls,
}: {
  job: ItemJob;
  row: WholeRow;
  calls: readonly ProviderCall[];
}) {
  const entries: Entry[] = [
    ...(row.nextAttemptAt === null
      ? []
      : [{ key: 'next', at: row.nextAttemptAt, what: 'It will be retried.' }]),
    {
      key: 'now',
      at: row.updatedAt,
      what: (
        <>
          It is {statusLook(row.status).word} after {row.attempts}{' '}
          {row.attempts === 1 ? 'attempt' : 'attempts'}
          {row.lastError === null ? '.' : `: ${row.lastError}`}
        </>
      ),
    },
    ...(row.lockedAt === null
      ? []
      : [{ key: 'locked', at: row.lockedAt, what: `Worker ${row.lockedBy ?? ''} claimed it.` }]),
    ...calls.map((call, index) => ({
      key: `call ${index}`,
      at: call.createdAt,
      what: `${call.provider} was called (${call.strategy}) and returned ${call.status ?? 'nothing'}.`,
    })),
    { key: 'came', at: job.createdAt, what: `It was row ${row.rowNo} of ${job.fileName ?? 'the file'}.` },
  ];
  const sorted = entries.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return (
    <ol className="history">
      {sorted.map(({ key, at, what }) => (
        <li key={key}>
          <span className="dim">
            <Ago at={at} />
          </span>
          <span>{what}</span>
        </li>
      ))}
    </ol>
  );
}

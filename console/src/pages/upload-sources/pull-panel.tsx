import { Button } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { UploadSource } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { type DayRange, isWholeRange, noRange, RangeFields } from '../../parts/range-fields.tsx';

/** Pulls now: the last days, or others. */
export function PullPanel({ source }: { source: UploadSource }) {
  const mayPull = useCan('source.pull');
  const [range, setRange] = useState<DayRange>(noRange);
  const isWhole = isWholeRange(range);
  const isEmpty = range.from === '' && range.to === '';
  const pull = useAction({
    run: () =>
      api.post('/api/uploads/sources/{source_id}/pull', {
        path: { source_id: source.source_id },
        body: isWhole ? { date_from: range.from, date_to: range.to } : {},
      }),
    done: () => `The pull of ${source.name} is queued.`,
    touches: ['uploads', 'jobs'],
  });
  if (!mayPull) return null;
  const takesDays = source.place.kind !== 's3' && source.place.kind !== 'ftp';
  return (
    <div className="row">
      {takesDays ? <RangeFields range={range} onChange={setRange} /> : null}
      <Button loading={pull.isRunning} disabled={!isEmpty && !isWhole} onClick={() => pull.run()}>
        {isWhole ? 'Pull these days' : takesDays ? `Pull the last ${source.restate_days} days` : 'Pull now'}
      </Button>
    </div>
  );
}

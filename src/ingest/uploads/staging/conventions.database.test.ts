import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { type RunOptions, range, useUploadRuns } from '../../../../test/support/worlds/upload-runs.ts';
import type { Upload } from '../types.ts';

// Ambiguous numbers and dates whose meaning is proven far behind them.
const database = useDatabase();
const uploads = useUploadRuns(database);

interface Row {
  name?: string;
  day?: string;
  spend?: string;
}

function report(rows: Row[], header = 'Campaign name;Day;Amount spent (IDR);Impressions'): string {
  const lines = rows.map(
    ({ name, day = '2026-03-01', spend = '100' }, at) => `${name ?? `C ${at}`};${day};${spend};1`,
  );
  return `${header}\n${lines.join('\n')}\n`;
}

const plain = (count: number, row: Row = {}): Row[] => range(count).map(() => row);

async function run(content: string, { review = false, ...options }: RunOptions & { review?: boolean } = {}) {
  const place = await uploads.place();
  const { kernel, reads } = await uploads.start({ linesPerBatch: 100, ...options });
  const upload = await uploads.take(place, content, { review });
  await kernel.cycle({ budgetMs: 60_000, tenantId: place.tenantId });
  return { upload, reads, ...(await leavings(upload)) };
}

async function leavings(upload: Upload) {
  const facts = await database.owner<{ name: string; day: string; spend: string }>(
    `select c.name, m.metric_date::text as day, trim_scale(m.spend)::text as spend
       from daily_metrics m join campaigns c using (tenant_id, campaign_id)
      where m.last_upload = $1`,
    [upload.uploadId],
  );
  const { status, warnings, failed_rows } = await uploads.upload(upload);
  return {
    status,
    failed: failed_rows,
    warnings: (warnings as { code: string; message: string; count: number }[]).filter(({ code }) =>
      code.endsWith('disagree'),
    ),
    spend: Object.fromEntries(facts.map((fact) => [fact.name, fact.spend])),
    days: Object.fromEntries(facts.map((fact) => [fact.name, fact.day])),
  };
}

const counted = (values: Record<string, string>) => {
  const counts: Record<string, number> = {};
  for (const value of Object.values(values)) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
};

test.each([20, 250, 950])(
  'the meaning of an amount does not depend on the %i rows before the proof',
  async (before) => {
    const proof = [
      { name: 'P', spend: '12.345' },
      { name: 'Q', spend: '1.234.567' },
      { name: 'R', spend: '12,5' },
    ];
    const { status, spend, warnings } = await run(report([...plain(before), ...proof]));
    expect([status, warnings]).toEqual(['completed', []]);
    expect(spend).toMatchObject({ P: '12345', Q: '1234567', R: '12.5' });
  },
);

test('the last row of a file proves the decimal mark of all rows before it', async () => {
  const { status, spend } = await run(report([...plain(1_300, { spend: '1,234' }), { spend: '0,5' }]));
  expect(status).toBe('completed');
  expect(counted(spend)).toEqual({ '1.234': 1_300, '0.5': 1 });
});

test('the language of the headers decides when the whole file proves nothing', async () => {
  const { spend } = await run(report(plain(600, { spend: '1,234' })));
  expect(counted(spend)).toEqual({ '1234': 600 });
});

test('later dates of the file prove the order of the first ones', async () => {
  const days = range(31).flatMap((day) =>
    plain(20, { day: `${String(day).padStart(2, '0')}/03/2026` }).map((row, at) => ({
      ...row,
      name: `${day} ${at}`,
    })),
  );
  const { status, failed, days: read } = await run(report(days));
  expect({ status, failed }).toEqual({ status: 'completed', failed: 0 });
  expect(new Set(Object.values(read))).toEqual(
    new Set(range(31).map((day) => `2026-03-${String(day).padStart(2, '0')}`)),
  );
});

test('an unambiguous number that contradicts the file is read by its own form, with a warning', async () => {
  const rows = [{ spend: '12.5' }, ...plain(300, { spend: '1,234' }), { name: 'Odd', spend: '0,5' }];
  const { status, spend, warnings } = await run(report(rows));
  expect(status).toBe('completed');
  expect(counted(spend)).toEqual({ '12.5': 1, '1234': 300, '0.5': 1 });
  expect(warnings).toEqual([
    { code: 'decimal_marks_disagree', count: 1, message: expect.stringContaining('line 303: "0,5"') },
  ]);
  const [{ message } = { message: '' }] = warnings;
  expect(message).toContain('Column "Amount spent (IDR)"');
  expect(message).toContain('only be read as 0.5, with a decimal comma');
  expect(message).toContain('1,234 is read as 1234 and 1.234 as 1.234');
});

test('decimal marks that disagree in the first rows decide nothing, with a warning and a reason per row', async () => {
  const rows = [...plain(30, { spend: '12.5' }), { spend: '1,234' }, { spend: '0,5' }];
  const { failed, spend, warnings } = await run(report(rows));
  expect(failed).toBe(1);
  expect(counted(spend)).toEqual({ '12.5': 30, '0.5': 1 });
  expect(warnings).toMatchObject([{ code: 'decimal_marks_disagree', count: 1 }]);
  expect(warnings[0]?.message).toContain('numbers such as 1,234 are refused');
});

test('unambiguous files are read once, and others only as far as necessary', {
  timeout: 120_000,
}, async () => {
  // Longer than what is read for encoding and header, and long enough that a piece read ahead makes no difference. Held
  // for review, because only reading counts here.
  const name = 'C'.repeat(1_600);
  const bytesOf = async (row: Row, last: Row[] = []) => {
    const content = report([...plain(3_000, { name, ...row }), ...last]);
    const { reads } = await run(content, { linesPerBatch: 1_000, review: true });
    return reads.reduce((sum, { bytes }) => sum + bytes, 0) / Buffer.byteLength(content);
  };
  const once = await bytesOf({ spend: '1.25' });
  expect(await bytesOf({ spend: '100' })).toBeCloseTo(once, 1);
  expect(await bytesOf({ spend: '100' }, [{ spend: '1.234' }, { spend: '1,5' }])).toBeCloseTo(once, 1);
  // Two thirds again: the first batch had been read already.
  expect(await bytesOf({ spend: '1.234' }, [{ spend: '1,5' }])).toBeCloseTo(once + 2 / 3, 1);
});

test('a worker that dies or runs out of time while it looks ahead does not change the result', {
  timeout: 240_000,
}, async () => {
  const rows = plain(1_805, { spend: '1,234', day: '01/03/2026' });
  // One proof is found before a stop and the other after it.
  const content = report(
    rows.with(900, { spend: '0,5', day: '02/03/2026' }).with(1_801, { spend: '1,234', day: '13/03/2026' }),
  );
  const options = { linesPerBatch: 300, sliceMs: 0 };
  const looked = new Set<number>();
  for (let at = 1; at <= 9; at += 1) {
    const place = await uploads.place();
    const first = await uploads.start({
      ...options,
      hooks: {
        after: async (count, { job }) => {
          const [row] = await database.owner<{ next: number | null }>(
            `select (checkpoint #>> '{lookedUpTo,nextRowIndex}')::integer as next
               from ingestion_jobs where job_id = $1`,
            [job.jobId],
          );
          if (row?.next) looked.add(row.next);
          if (count === at) await uploads.takeOver(job);
        },
      },
    });
    const upload = await uploads.take(place, content);
    await first.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const second = await uploads.start(options);
    await uploads.bringForward(upload);
    await second.kernel.cycle({ budgetMs: 20_000, tenantId: place.tenantId });
    const { status, failed, warnings, spend, days } = await leavings(upload);
    expect({ status, failed, warnings }).toEqual({ status: 'completed', failed: 0, warnings: [] });
    expect(counted(spend)).toEqual({ '1.234': 1_804, '0.5': 1 });
    expect(counted(days)).toEqual({ '2026-03-01': 1_803, '2026-03-02': 1, '2026-03-13': 1 });
  }
  expect([...looked].sort((a, b) => a - b)).toEqual([800, 1_300, 1_800]);
});

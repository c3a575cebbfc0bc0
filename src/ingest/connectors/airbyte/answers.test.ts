import { describe, expect, test } from 'vitest';
import { longestTurnMs } from '../../../../test/support/probes/longest-turn.ts';
import { connectionPageReader, readConnection, readJob, readJobs, readToken } from './answers.ts';

const job = {
  jobId: 17,
  status: 'succeeded',
  jobType: 'sync',
  startTime: '2026-08-01T10:00:00Z',
  connectionId: 'c-1',
  lastUpdatedAt: '2026-08-01T10:05:00Z',
  duration: 'PT5M',
  bytesSynced: 1_000,
  rowsSynced: 10,
};

describe('a job', () => {
  test('is read with its creation time, its duration in seconds and its counts', async () => {
    expect(await readJob(bytesOf(JSON.stringify(job)))).toEqual({
      ok: true,
      value: {
        runId: '17',
        status: 'succeeded',
        jobType: 'sync',
        connectionId: 'c-1',
        createdAt: new Date('2026-08-01T10:00:00Z'),
        lastUpdatedAt: new Date('2026-08-01T10:05:00Z'),
        durationSeconds: 300,
        bytesSynced: 1_000,
        rowsSynced: 10,
        failure: null,
      },
    });
  });

  test('says why its last attempt failed, where the server includes the attempts', async () => {
    const failures = [{ externalMessage: 'The password is wrong', failureType: 'config_error' }];
    const attempts = [{ failureSummary: null }, { failureSummary: { failures } }];
    expect(await readJob(bytesOf(JSON.stringify({ ...job, status: 'failed', attempts })))).toMatchObject({
      ok: true,
      value: { failure: { message: 'The password is wrong', type: 'config_error' } },
    });
    expect(await readJob(bytesOf(JSON.stringify({ ...job, attempts: 'none' })))).toMatchObject({
      ok: true,
      value: { failure: null },
    });
  });

  test('has null for whatever Airbyte leaves out', async () => {
    const { jobId, status, jobType, startTime, connectionId } = job;
    const bare = { jobId, status, jobType, startTime, connectionId, rowsSynced: null, duration: 'a while' };
    expect(await readJob(bytesOf(JSON.stringify(bare)))).toMatchObject({
      ok: true,
      value: { lastUpdatedAt: null, durationSeconds: null, bytesSynced: null, rowsSynced: null },
    });
  });

  test.each([['9007199254740993'], ['9223372036854775807'], ['1']])(
    'keeps every digit of its id %s',
    async (id) => {
      for (const spelling of [`"jobId":${id},`, `"jobId" : ${id} ,`, `"jobId":"${id}",`]) {
        const text = JSON.stringify(job).replace('"jobId":17,', spelling);
        expect(await readJob(bytesOf(text))).toMatchObject({ ok: true, value: { runId: id } });
      }
    },
  );

  test('is not confused by a text that looks like an id', async () => {
    const tricky = { ...job, status: 'x "jobId":5,' };
    expect(await readJob(bytesOf(JSON.stringify(tricky)))).toMatchObject({
      ok: true,
      value: { status: 'x "jobId":5,' },
    });
  });

  test.each([
    ['an id that is not a whole number', { jobId: 1.5 }, 'jobId'],
    ['a negative id', { jobId: -1 }, 'jobId'],
    ['no status', { status: undefined }, 'status'],
    ['an invalid time', { startTime: 'yesterday-ish' }, 'startTime'],
    ['rows as text', { rowsSynced: '10' }, 'rowsSynced'],
  ])('is refused with %s, and the reason names the place', async (_what, change, place) => {
    const reading = await readJob(bytesOf(JSON.stringify({ ...job, ...change })));
    expect(reading).toMatchObject({ ok: false, reason: expect.stringContaining(place) });
  });

  test('is refused when it is not JSON or a list', async () => {
    expect(await readJob(bytesOf('<html>'))).toEqual({ ok: false, reason: 'it is not JSON' });
    expect((await readJob(bytesOf('[]'))).ok).toBe(false);
    expect((await readJob(bytesOf(''))).ok).toBe(false);
    expect((await readJobs(bytesOf(JSON.stringify(job)))).ok).toBe(false);
  });
});

describe('a connection', () => {
  const connection = { connectionId: 'c-1', name: 'Shop', status: 'active', workspaceId: 'w-1' };

  test('is read with the type of its schedule', async () => {
    const text = JSON.stringify({ ...connection, schedule: { scheduleType: 'cron', cronExpression: '…' } });
    expect(await readConnection(bytesOf(text))).toEqual({
      ok: true,
      value: { ...connection, scheduleType: 'cron', sourceId: null, destinationId: null },
    });
  });

  test.each([
    ['a full page', { data: [connection, connection], next: '' }, true],
    ['a short page that names the next one', { data: [connection], next: 'https://x/?offset=1' }, true],
    ['a short page', { data: [connection] }, false],
    ['an empty page, whatever it names', { data: [], next: 'https://x/?offset=1' }, false],
  ])('on %s decides whether another page is requested', async (_what, page, hasMore) => {
    expect(await connectionPageReader(2)(bytesOf(JSON.stringify(page)))).toMatchObject({
      ok: true,
      value: { hasMore },
    });
  });
});

test('a token that no header can carry is refused without being quoted', async () => {
  const reading = await readToken(bytesOf(JSON.stringify({ access_token: 'line\nbreak', expires_in: 900 })));
  expect(reading).toMatchObject({ ok: false, reason: expect.stringContaining('access_token') });
  expect(JSON.stringify(reading)).not.toContain('break');
});

describe('large answers', () => {
  const big = { ...job, jobId: undefined, filler: 'x'.repeat(200_000) };

  test('a run id beyond 2^53 is read exactly from a job that is parsed in pieces', async () => {
    const text = `{"jobId": 9007199254740993, ${JSON.stringify(big).slice(1)}`;
    expect(await readJob(bytesOf(text))).toMatchObject({ ok: true, value: { runId: '9007199254740993' } });
  });

  test('the last failure is found behind half a million attempts', async () => {
    const failure = { failureSummary: { failures: [{ externalMessage: 'the last one' }] } };
    const attempts = `${'{},'.repeat(500_000)}${JSON.stringify(failure)}`;
    const text = JSON.stringify({ ...job, attempts: [] }).replace(
      '"attempts":[]',
      `"attempts":[${attempts}]`,
    );
    expect(await readJob(bytesOf(text))).toMatchObject({
      ok: true,
      value: { failure: { message: 'the last one' } },
    });
  });

  test.each([
    ['a list of a million jobs that are none', `{"data":[${'{},'.repeat(1_000_000)}{}]}`],
    ['more values than any answer has', `{"data":[],"more":[${'[],'.repeat(2_500_000)}[]]}`],
  ])('%s is refused, and nothing else has to wait for it', async (_, text) => {
    const body = bytesOf(text);
    const { result, ms } = await longestTurnMs(() => readJobs(body));
    expect(result.ok).toBe(false);
    expect(ms).toBeLessThan(100);
  });
});

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

import { expect, test } from 'vitest';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { isLegal, type Move, statesBefore, transitions } from './transitions.ts';
import { type JobStatus, jobStatuses, type Outcome } from './types.ts';

const database = useDatabase();

/** The move that each outcome of a slice is, as long as the job was not canceled. */
const moveOf: Record<Outcome['type'], Move> = {
  continue: 'continue',
  wait: 'wait',
  done: 'finish',
  retry: 'retry',
  dead: 'give_up',
};
const outcomes = Object.keys(moveOf) as Outcome['type'][];

function targetsOf(move: Move, from: JobStatus): JobStatus[] {
  return transitions
    .filter((transition) => transition.move === move && transition.from === from)
    .map(({ to }) => to);
}

test('the database settles every outcome in every status as the table of moves says', async () => {
  const rows = await database.owner<{ status: JobStatus; outcome: Outcome['type']; settled: JobStatus }>(
    `select s.status, o.outcome, settled_status(s.status, o.outcome) as settled
       from unnest($1::text[]) s (status)
      cross join unnest($2::text[]) o (outcome)`,
    [statesBefore('finish').concat(statesBefore('clean_up')), outcomes],
  );
  expect(rows).toHaveLength(3 * outcomes.length);
  for (const { status, outcome, settled } of rows) {
    const move = status === 'canceled' ? 'clean_up' : moveOf[outcome];
    expect([settled], `${outcome} in ${status}`).toEqual(targetsOf(move, status));
  }
});

test('a slice can end only in a status that a slice can be in', () => {
  for (const outcome of outcomes) {
    expect(statesBefore(moveOf[outcome]), outcome).toEqual(['running', 'paused']);
  }
  expect(statesBefore('clean_up')).toEqual(['canceled']);
});

test('every status is reachable from queued, and only success and dead letters are ends of a leased job', () => {
  const reached = new Set<JobStatus>(['queued']);
  for (let round = 0; round < jobStatuses.length; round += 1) {
    for (const { from, to } of transitions) if (reached.has(from)) reached.add(to);
  }
  expect([...reached].sort()).toEqual([...jobStatuses].sort());
  // Only a shared job can be reopened.
  const leased = transitions.filter(({ move }) => move !== 'reopen');
  const ends = jobStatuses.filter((status) => !leased.some(({ from }) => from === status));
  expect(ends.sort()).toEqual(['dead_letter', 'success']);
  // Canceled is an end too: its only moves are those of its own cleanup.
  expect(transitions.filter(({ from, to }) => from === 'canceled' && to !== 'canceled')).toEqual([]);
});

test('no move is listed twice, and the questions about the table agree with it', () => {
  const keys = transitions.map(({ move, from, to }) => `${move} ${from} ${to}`);
  expect(new Set(keys).size).toBe(keys.length);
  for (const move of new Set(transitions.map((transition) => transition.move))) {
    for (const status of jobStatuses) {
      expect(isLegal(move, status), `${move} from ${status}`).toBe(targetsOf(move, status).length > 0);
      expect(statesBefore(move).includes(status)).toBe(isLegal(move, status));
    }
  }
});

test('the database knows the same statuses', async () => {
  const [row] = await database.owner<{ definition: string }>(
    `select pg_get_constraintdef(oid) as definition
       from pg_constraint
      where conrelid = 'ingestion_jobs'::regclass and conname = 'ingestion_jobs_status_check'`,
  );
  const known = [...(row?.definition ?? '').matchAll(/'([a-z_]+)'/g)].map(([, status]) => status);
  expect(known.sort()).toEqual([...jobStatuses].sort());
});

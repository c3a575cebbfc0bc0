import { describe, expect, test } from 'vitest';
import { RetriesExhausted } from '../staging/retries.ts';
import { type Approach, nextApproach } from './promote.ts';

const rowError = Object.assign(new Error('value out of range'), { code: '22003' });
const parentMissing = new RetriesExhausted('parent_in_flight', new Error('no parent'));
const deadlock = new RetriesExhausted('deadlock', new Error('deadlock detected'));

function approachesAfter(start: Approach, errors: unknown[]): Approach[] {
  const seen: Approach[] = [];
  for (const error of errors) seen.push(nextApproach(seen.at(-1) ?? start, error));
  return seen;
}

describe('the approach to a batch', () => {
  const first: Approach = { write: 'insert', needsParents: true };

  test('after bad rows is to upsert, then to isolate them, and then the error stands', () => {
    const seen = approachesAfter(first, [rowError, rowError]);
    expect(seen.map(({ write }) => write)).toEqual(['upsert', 'isolate']);
    expect(() => nextApproach(seen.at(-1) as Approach, rowError)).toThrow(rowError);
  });

  test('after missing parents is to do without them, then to isolate rows, and then the error stands', () => {
    const seen = approachesAfter(first, [parentMissing, parentMissing]);
    expect(seen).toEqual([
      { write: 'insert', needsParents: false },
      { write: 'isolate', needsParents: false },
    ]);
    expect(() => nextApproach(seen.at(-1) as Approach, parentMissing)).toThrow(parentMissing);
  });

  test('after too many deadlocks is to give up, once', () => {
    const [seen] = approachesAfter(first, [deadlock]);
    expect(seen).toEqual({ write: 'give_up' });
    expect(() => nextApproach(seen as Approach, deadlock)).toThrow(deadlock);
  });

  test('does not exist for a lost connection or an unknown error', () => {
    const lost = new RetriesExhausted('connection', new Error('gone'));
    expect(() => nextApproach(first, lost)).toThrow(lost);
    expect(() => nextApproach(first, new Error('unknown'))).toThrow('unknown');
  });
});

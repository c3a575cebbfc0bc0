import { expect, test } from 'vitest';
import { draftOf, draftProblem, limitsOf, stateOf } from './limits.ts';

test('an empty field takes a limit away, and others are numbers', () => {
  const draft = { ...draftOf(undefined), rate_per_second: '2.5', concurrency: ' ' };
  expect(limitsOf(draft)).toEqual({
    rate_per_second: 2.5,
    concurrency: null,
    daily_budget: null,
    timeout_ms: null,
    cost_per_call: null,
  });
});

test('a text that is not a number is found before it is sent', () => {
  expect(draftProblem(draftOf(undefined))).toBeNull();
  expect(draftProblem({ ...draftOf(undefined), daily_budget: 'much' })).toBe('daily_budget');
});

test('a provider that is not called says why', () => {
  expect(stateOf({ waiting_for: null, breaker: 'closed' })).toBe('ready');
  expect(stateOf({ waiting_for: 'budget', breaker: 'closed' })).toBe(
    'waits: the budget of the day is used up',
  );
  expect(stateOf({ waiting_for: null, breaker: 'open' })).toMatch(/one call at a time/);
});

import { expect, test } from 'vitest';
import { durationSecondsOf } from './duration.ts';

const readable: [string, number][] = [
  ['PT8H6M12S', 29_172],
  ['PT0S', 0],
  ['PT90M', 5_400],
  ['PT1.5S', 1.5],
  ['P1DT1H', 90_000],
  ['P1W', 604_800],
];
test.each(readable)('%s is %d seconds', (text, seconds) => {
  expect(durationSecondsOf(text)).toBe(seconds);
});

test.each(['', 'P', 'PT', 'P1DT', '12', 'PT1', '1H', 'P1M', 'PT-5S', 'PT1S2H', `PT${'9'.repeat(200)}S`])(
  '%j is not a duration',
  (text) => {
    expect(durationSecondsOf(text)).toBeNull();
  },
);

import { expect, test } from 'vitest';
import { ClaimedInput } from './processing.ts';
import { noopProcessor } from './processors/noop.ts';

function claimed(inputJson: string): ClaimedInput {
  return new ClaimedInput(
    { id: 1, rowNo: 1, attempts: 1, strategy: 0, crashes: 0, throttled: 0, notFound: 0, inputJson },
    noopProcessor,
  );
}

test('an unchanged input is recognised, even with more digits than a double holds', () => {
  const item = claimed('{"id":12345678901234567890,"__proto__":"x"}');
  expect(item.is(item.input)).toBe(true);
});

test('an input that a processor changed in place no longer counts as the input', () => {
  const item = claimed('{"price":"5"}');
  item.input.price = 6;
  expect(item.is(item.input)).toBe(false);
});

test('a copy of the input does not count as the input', () => {
  const item = claimed('{"a":1}');
  expect(item.is({ ...item.input })).toBe(false);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { longestTurnMs } from '../../../../test/support/probes/longest-turn.ts';
import { exactText, inOneOrder } from './rows.ts';

test('texts are put into the order that sorting them at once would give', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { maxLength: 3_000 }), async (texts) => {
      expect(await inOneOrder(texts)).toEqual([...texts].sort());
    }),
    { numRuns: 60 },
  );
});

test('a report of two hundred thousand rows is sorted without keeping anything else waiting', async () => {
  const texts = Array.from(
    { length: 200_000 },
    (_, at) => `{"id":"${(at * 7_919) % 200_003}","x":"${'y'.repeat(200)}"}`,
  );
  const { result, ms } = await longestTurnMs(() => inOneOrder(texts));
  expect(result).toHaveLength(texts.length);
  expect(ms).toBeLessThan(100);
});

test('a number that has lost its last digits is refused', () => {
  expect(() => exactText({ campaign: JSON.parse('{"id":9007199254740993}') }, 'Meta')).toThrow(
    'without quotes',
  );
  expect(exactText({ campaign: { id: '9007199254740993' } }, 'Meta')).toBe(
    '{"campaign":{"id":"9007199254740993"}}',
  );
});

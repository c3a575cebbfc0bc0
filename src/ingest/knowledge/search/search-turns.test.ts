import { expect, it } from 'vitest';
import { createSearchTurns } from './search.ts';

it('keeps a turn free for another tenant beside one that searches as much as it can', async () => {
  const turns = createSearchTurns();
  const end = new AbortController();
  const ended = Array.from({ length: 9 }, () =>
    turns.take('greedy', end.signal).catch((reason: unknown) => reason),
  );
  const release = await turns.take('neighbour', AbortSignal.timeout(20_000));
  release();
  end.abort();
  await Promise.all(ended);
  expect(turns.running).toBeGreaterThan(0);
});

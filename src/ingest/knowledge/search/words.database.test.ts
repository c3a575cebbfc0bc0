import { describe, expect, test } from 'vitest';
import { newSpace, type VectorDatabase } from '../../../../test/support/probes/vector-spaces.ts';
import { recountWords } from '../../../../test/support/probes/word-counts.ts';
import { type NewChunk, wordEmbedders, writeDocument } from '../../../../test/support/probes/word-search.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { VectorSpace } from '../index/vector/engine.ts';
import { ExactEngine } from '../index/vector/exact.ts';
import { wordCountingTask } from '../index/word-counting.ts';
import { parseQuestion } from './question.ts';
import { createSearchTurns, searchKnowledge } from './search.ts';
import { listTextMatches } from './store.ts';

const database = useDatabase();
const arranged: VectorDatabase = {
  tenant: (tenantId, work) => database.db.tenant(tenantId, work),
  owner: database.owner,
};
const engine = new ExactEngine({ cacheBytes: 1024 * 1024 });
const { embedders } = wordEmbedders();

async function spaceWith(texts: readonly string[], language = 'english'): Promise<VectorSpace> {
  const space = await newSpace(arranged, 4);
  await database.owner('update knowledge_generations set language = $2 where tenant_id = $1', [
    space.tenantId,
    language,
  ]);
  const chunks: NewChunk[] = texts.map((text) => ({ text }));
  await writeDocument(arranged, space, { document: { title: 'all' }, chunks });
  return space;
}

async function find(space: VectorSpace, query: string, options: { explain?: boolean } = {}) {
  const deps = { db: database.db, engine, embedders, turns: createSearchTurns() };
  const found = await searchKnowledge(deps, { ...space, query, mode: 'text', limit: 50, ...options });
  return found.results;
}

/** BM25 by the book, over words that need no stemming. */
function bm25(texts: readonly string[], query: string): { text: string; score: number }[] {
  const words = (text: string): string[] => text.toLowerCase().match(/[a-z]+[0-9]*/g) ?? [];
  const passages = texts.map(words);
  const average = passages.reduce((sum, { length }) => sum + length, 0) / passages.length;
  return texts
    .map((text, at) => {
      const own = passages[at] ?? [];
      const score = [...new Set(words(query))].reduce((sum, word) => {
        const count = own.filter((each) => each === word).length;
        const holders = passages.filter((each) => each.includes(word)).length;
        const idf = Math.log(1 + (passages.length - holders + 0.5) / (holders + 0.5));
        return sum + (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * own.length) / average));
      }, 0);
      return { text, score };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}

/** Words w0, w1, … of which the first are frequent, in passages of 5 to 40 words; the same each time. */
function zipfTexts(count: number): string[] {
  let seed = 11;
  const next = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: 5 + Math.floor(next() * 36) }, () => `w${Math.floor(400 ** next()) - 1}`).join(' '),
  );
}

describe('words', () => {
  test('are scored as BM25 says, whichever words are rare and however many there are', async () => {
    const texts = [...new Set(zipfTexts(1_500))];
    const space = await spaceWith(texts);
    for (const query of ['w300 w2', 'w0 w1 w2', 'w5 w17 w80 w200 w0 w1', 'w399 w398 w397', 'w9 w9 nothing']) {
      const expected = bm25(texts, query);
      const found = await database.db.tenant(space.tenantId, (tx) =>
        listTextMatches(tx, space, { question: parseQuestion(query), limit: 40 }),
      );
      const scores = found.map(({ score }) => score ?? 0);
      expect(scores, query).toHaveLength(Math.min(40, expected.length));
      for (const [place, score] of scores.entries())
        expect(score).toBeCloseTo(expected[place]?.score ?? 0, 6);
    }
  });

  test('are explained: each word, its passages, its weight and its part of the score', async () => {
    const texts = ['Oil the pump. Oil it again.', 'The pump is red.', 'A red door.', 'Nothing else here.'];
    const [first] = await find(await spaceWith(texts), 'how is the pump oiled', { explain: true });
    expect(first?.text).toBe(texts[0]);
    const { explanation } = first ?? {};
    expect(
      explanation?.words.map(({ word, passages, occurrences }) => [word, passages, occurrences]),
    ).toEqual([
      ['oil', 1, 2],
      ['pump', 2, 1],
    ]);
    const sum = explanation?.words.reduce((total, { score }) => total + score, 0);
    expect(first?.score).toBeCloseTo(sum ?? 0, 9);
    expect(explanation?.bm25).toBeCloseTo(sum ?? 0, 9);
  });

  test('are found in the forms of the language', async () => {
    const german = await spaceWith(['Die Häuser am Fluss', 'Ein Boot auf dem See'], 'german');
    expect((await find(german, 'Haus')).map(({ text }) => text)).toEqual(['Die Häuser am Fluss']);
    expect(await find(german, 'die der auf')).toEqual([]);
  });

  test.each([
    ['KX-4410', 'Order part KX-4410 today.'],
    ['kx4410', 'Order part KX-4410 today.'],
    ['4410', 'Order part KX-4410 today.'],
    ['RTX4090', 'A card RTX4090 in stock.'],
    ['E-1042/7', 'Error E-1042/7 means no oil.'],
    ['v1.2.3', 'Since v1.2.3 it is faster.'],
    ['"no oil"', 'Error E-1042/7 means no oil.'],
    ['ISO 9001:2015', 'Certified after ISO 9001:2015.'],
  ])('find %s', async (query, text) => {
    const others = [
      'Order part KX-4411 today.',
      'A card RTX4080 in stock.',
      'Error E-1043/8 means no water and oil.',
      'Since v1.2.4 it is slower.',
      'Certified after ISO 14001:2004.',
    ];
    const found = await find(await spaceWith([...others, text]), query);
    expect(found[0]?.text).toBe(text);
  });

  test('in quotes are needed as a phrase, and those after a minus are left out', async () => {
    const space = await spaceWith([
      'red apple pie',
      'apple red',
      'red pear pie',
      'temperature of -5 degrees',
    ]);
    const texts = async (query: string) => (await find(space, query)).map(({ text }) => text).toSorted();
    expect(await texts('"red apple" pie')).toEqual(['red apple pie']);
    expect(await texts('red -pie')).toEqual(['apple red']);
    expect(await texts('red -"pear pie"')).toEqual(['apple red', 'red apple pie']);
    expect(await texts('-5 degrees')).toEqual(['temperature of -5 degrees']);
  });
});

describe('a repeated search', () => {
  test('gives the same order, with equal scores by the order of the index', async () => {
    const space = await spaceWith(Array.from({ length: 60 }, (_, n) => `car number${n}`));
    const deps = { db: database.db, engine, embedders, turns: createSearchTurns() };
    for (const mode of ['vector', 'text', 'hybrid'] as const) {
      const ask = async () => {
        const { results } = await searchKnowledge(deps, { ...space, query: 'car', mode, limit: 50 });
        return results.map(({ text }) => text);
      };
      const first = await ask();
      expect(first).toEqual(Array.from({ length: 50 }, (_, n) => `car number${n}`));
      for (let again = 0; again < 3; again += 1) expect(await ask()).toEqual(first);
    }
  });
});

describe('counts', () => {
  test('stay exact while passages come and go, also from many transactions at once', async () => {
    const spaces = [await newSpace(arranged, 4)];
    const [space] = spaces as [VectorSpace];
    const texts = zipfTexts(600);
    await Promise.all(
      Array.from({ length: 6 }, async (_, writer) => {
        for (let at = writer; at < 60; at += 6) {
          const chunks = texts.slice(at * 10, at * 10 + 10).map((text) => ({ text }));
          await writeDocument(arranged, space, { document: { title: `document ${at}` }, chunks });
          if (at % 3 === 0) {
            await database.db.tenant(space.tenantId, (tx) =>
              tx.run(sql`
                delete from embeddings_index
                 where tenant_id = ${space.tenantId}
                   and chunk_id % 7 = ${at % 7}`),
            );
          }
        }
      }),
    );
    const counts = await recountWords(database, space);
    expect(counts).toMatchObject({ wrong: [], wrongTotals: [] });
    expect(counts.words).toBeGreaterThan(100);
    // Most changes were summed up on the way.
    const [left] = await database.owner<{ count: string }>(
      'select count(*) from knowledge_word_changes where tenant_id = $1',
      [space.tenantId],
    );
    expect(Number(left?.count)).toBeLessThan(32);
  });

  test('upkeep counts the words of an older index, and searches find its passages before', async () => {
    const space = await spaceWith(['The old pump.', 'The old door.', 'A valve.']);
    // As it was before: neither counted nor marked.
    await database.owner(
      `update embeddings_index set text_search = to_tsvector('english', text), word_count = null where tenant_id = $1`,
      [space.tenantId],
    );
    for (const table of ['knowledge_words', 'knowledge_word_changes']) {
      await database.owner(`delete from ${table} where tenant_id = $1`, [space.tenantId]);
    }
    await database.owner(
      'update knowledge_generations set counted_to = 0, passages = 0, passage_words = 0 where tenant_id = $1',
      [space.tenantId],
    );
    expect((await find(space, 'old pump'))[0]?.text).toBe('The old pump.');
    await writeDocument(arranged, space, { document: { title: 'new' }, chunks: [{ text: 'A new pump.' }] });
    await wordCountingTask({ db: database.db }).run();
    expect(await recountWords(database, space)).toMatchObject({ wrong: [], wrongTotals: [] });
    const found = await find(space, 'old pump', { explain: true });
    expect(found.map(({ text }) => text)).toEqual(['The old pump.', 'The old door.', 'A new pump.']);
    expect(found[0]?.explanation?.words.map(({ word, passages }) => [word, passages])).toEqual([
      ['old', 2],
      ['pump', 2],
    ]);
  });
});

import { describe, expect, test } from 'vitest';
import { newSpace, type VectorDatabase } from '../../../../test/support/probes/vector-spaces.ts';
import {
  type NewChunk,
  type NewDocument,
  wordEmbedders,
  writeDocument,
} from '../../../../test/support/probes/word-search.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import type { VectorSpace } from '../index/vector/engine.ts';
import { ExactEngine } from '../index/vector/exact.ts';
import { createSearchTurns, type SearchRequest, searchKnowledge } from './search.ts';

const database = useDatabase();
const arranged: VectorDatabase = {
  tenant: (tenantId, work) => database.db.tenant(tenantId, work),
  owner: database.owner,
};
const engine = new ExactEngine({ cacheBytes: 1024 * 1024 });

function searching(options: Parameters<typeof wordEmbedders>[0] = {}) {
  const { asked, embedders } = wordEmbedders(options);
  return { asked, deps: { db: database.db, engine, embedders, turns: createSearchTurns() } };
}

const addDocument = (space: VectorSpace, document: NewDocument, chunks: NewChunk[]) =>
  writeDocument(arranged, space, { document, chunks });

async function search(space: VectorSpace, request: Omit<SearchRequest, 'tenantId' | 'kbId'>) {
  const { tenantId, kbId } = space;
  return (await searchKnowledge(searching().deps, { tenantId, kbId, ...request })).results;
}

const textsOf = (results: readonly { text: string }[]) => results.map(({ text }) => text);

describe('a passage as people cite it', () => {
  const careOfPumps = [
    { text: 'Pumps want attention.', start: 0 },
    { text: 'Oiling the car happens every two weeks; <b>oil</b> is in the shed.', start: 18 },
    { text: 'The automobile stays outside.', start: 90 },
    { text: 'Bread is for people.', start: 130 },
  ];

  test('has the words of the question in all their forms, as ranges of its text', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'Pumps' }, careOfPumps);
    const [first] = await search(space, { query: 'oil for cars in weeks', mode: 'text', highlight: true });
    const shown = first?.highlights?.map(({ start, end }) => first.text.slice(start, end));
    expect(shown).toEqual(['Oiling', 'car', 'weeks', 'oil']);
  });

  test('is made of neighbours, and still fills the number of results', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'Pumps' }, careOfPumps);
    await addDocument(space, { title: 'Other' }, [{ text: 'A car.' }]);
    const asked = { query: 'car', mode: 'vector', limit: 2 } as const;
    const merged = await search(space, { ...asked, merge: true });
    expect(textsOf(merged)).toEqual([expect.stringContaining('is in the shed.\n\nThe automobile'), 'A car.']);
    expect(merged[0]).toMatchObject({ start: 18, passages: [{ start: 18 }, { start: 90 }] });
    expect(await search(space, asked)).toHaveLength(2);
  });

  test('says which sentence is nearest in meaning', async () => {
    const space = await newSpace(arranged, 4);
    const text = 'The bread is fresh today. The automobile stands outside. The weather is fine.';
    await addDocument(space, { title: 'All' }, [{ text }]);
    const [found] = await search(space, { query: 'car', mode: 'vector', sentences: true });
    const { start = 0, end = 0 } = found?.best_sentence ?? {};
    expect(found?.text.slice(start, end)).toBe('The automobile stands outside.');
  });
});

describe('a knowledge base with a reranker', () => {
  async function reranked(answer: { scores: number[] } | { note: string }) {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'Cars' }, [
      { text: 'The car.' },
      { text: 'The automobile.' },
      { text: 'Bread.' },
    ]);
    const reranker = { provider: 'custom', name: 'house', candidates: 3 };
    await database.owner('update knowledge_bases set reranker = $2 where kb_id = $1', [
      space.kbId,
      JSON.stringify(reranker),
    ]);
    const asked: string[][] = [];
    const rerankers = {
      rerank: async (_settings: unknown, { texts }: { texts: readonly string[] }) => {
        asked.push([...texts]);
        return answer;
      },
    };
    const { deps } = searching();
    const answered = await searchKnowledge(
      { ...deps, rerankers },
      { ...space, query: 'automobile', mode: 'vector', limit: 2 },
    );
    return { asked, answered };
  }

  test('shows its results in the order of the reranker, which reads more passages than are shown', async () => {
    const { asked, answered } = await reranked({ scores: [1, 2, 30] });
    expect(asked).toEqual([['Cars\nThe automobile.', 'Cars\nThe car.', 'Cars\nBread.']]);
    expect(textsOf(answered.results)).toEqual(['Bread.', 'The car.']);
    expect(answered).toMatchObject({ reranked: true, results: [{ score: 30 }, { score: 2 }] });
  });

  test('answers without it when it is down, and says so', async () => {
    const { answered } = await reranked({ note: 'It is down.' });
    expect(textsOf(answered.results)).toEqual(['The automobile.', 'The car.']);
    expect(answered).toMatchObject({ reranked: false, notes: ['It is down.'] });
  });
});

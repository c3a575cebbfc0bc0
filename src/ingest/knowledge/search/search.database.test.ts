import { describe, expect, test } from 'vitest';
import { newSpace, type VectorDatabase } from '../../../../test/support/probes/vector-spaces.ts';
import {
  type NewChunk,
  type NewDocument,
  wordEmbedders,
  writeDocument,
} from '../../../../test/support/probes/word-search.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { clientErrors } from '../../../kernel/http/client-signal.ts';
import { embedderErrors } from '../embedders/errors.ts';
import type { VectorSpace } from '../index/vector/engine.ts';
import { ExactEngine } from '../index/vector/exact.ts';
import { parseQuestion } from './question.ts';
import { createSearchTurns, type SearchRequest, searchKnowledge } from './search.ts';
import { listTextMatches } from './store.ts';

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

test('a search stops with the reason of its client, and not as one that took too long', async () => {
  const space = await newSpace(arranged, 4);
  await addDocument(space, { title: 'Cars' }, [{ text: 'Wash the car weekly.' }]);
  const gone = clientErrors.raise.client_gone('the client has gone');
  const { deps } = searching();
  const client = new AbortController();
  const turns = createSearchTurns();
  // The client goes while its search waits for its turn at the index.
  const atWork = Array.from({ length: 200 }, () => turns.take('other'));
  const waiting = searchKnowledge(
    { ...deps, turns },
    { ...space, query: 'automobile', signal: client.signal },
  );
  client.abort(gone);
  await expect(waiting).rejects.toBe(gone);
  expect(turns.running).toBeGreaterThan(0);
  for (const slot of atWork) (await slot)();
  expect(turns.running).toBe(0);
});

describe('a search', () => {
  test('returns the chunk with its document, headings, position and score', async () => {
    const space = await newSpace(arranged, 4);
    const documentId = await addDocument(space, { title: 'Cars' }, [
      { text: 'Wash the car weekly.', headingPath: ['Care', 'Washing'], start: 120 },
    ]);
    expect(await search(space, { query: 'automobile', mode: 'vector' })).toEqual([
      {
        text: 'Wash the car weekly.',
        score: expect.closeTo(0.95 / Math.hypot(0.95, 0.3), 4),
        document: { document_id: documentId, uri: 'file:Cars', title: 'Cars', metadata: {} },
        heading_path: ['Care', 'Washing'],
        start: 120,
        end: 140,
        link: `/knowledge/${space.kbId}?document=${documentId}&at=120`,
      },
    ]);
  });

  test('a search by meaning finds other words than those of the query, by text only the same words', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'all' }, [
      { text: 'The car needs fuel.' },
      { text: 'Bread needs yeast.' },
      { text: 'Automobiles of the thirties.' },
    ]);
    const byMeaning = await search(space, { query: 'automobile', mode: 'vector', limit: 2 });
    expect(textsOf(byMeaning)).toEqual(['Automobiles of the thirties.', 'The car needs fuel.']);
    const byText = await search(space, { query: 'automobile', mode: 'text' });
    expect(textsOf(byText)).toEqual(['Automobiles of the thirties.']);
  });

  test('a search by text does not need all words, but prefers chunks with all of them', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'all' }, [
      { text: 'Yeast, yeast, yeast and yeast again.' },
      { text: 'Fuel and yeast together.' },
      { text: 'Nothing of the kind.' },
      { text: 'Fuel alone.' },
    ]);
    const found = await search(space, { query: 'fuel yeast', mode: 'text' });
    expect(textsOf(found)[0]).toBe('Fuel and yeast together.');
    expect(textsOf(found)).toHaveLength(3);
    const without = await search(space, { query: 'fuel yeast -together', mode: 'text' });
    expect(textsOf(without).toSorted()).toEqual(['Fuel alone.', 'Yeast, yeast, yeast and yeast again.']);
    const phrase = await search(space, { query: '"yeast together"', mode: 'text' });
    expect(textsOf(phrase)).toEqual(['Fuel and yeast together.']);
  });

  test('a search by both is led by the meaning, and lets words decide between equals', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'all' }, [
      { text: 'The automobile of my uncle.' },
      { text: 'The automobile with number 4711.' },
      { text: 'Weather report 4711, number of my uncle.' },
    ]);
    const found = await search(space, { query: 'automobile number 4711' });
    expect(textsOf(found)).toEqual([
      'The automobile with number 4711.',
      'The automobile of my uncle.',
      'Weather report 4711, number of my uncle.',
    ]);
    expect(found[0]?.score).toBeGreaterThan(1.3);
    expect(found[0]?.score).toBeLessThan(1.7);
  });

  test('a search by both lets all words together outweigh a little similarity, but not a lot', async () => {
    const space = await newSpace(arranged, 4);
    const at = (cosine: number) => Float32Array.of(cosine, Math.sqrt(1 - cosine ** 2), 0, 0);
    await addDocument(space, { title: 'all' }, [
      { text: 'Something else.', vector: at(0.85) },
      { text: 'The automobile 4711.', vector: at(0.5) },
      { text: 'The very thing.', vector: at(0.99) },
    ]);
    const found = await search(space, { query: 'automobile 4711' });
    expect(textsOf(found)).toEqual(['The very thing.', 'The automobile 4711.', 'Something else.']);
  });

  test('a search by both gives little for one word of many, even where no chunk has more', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'all' }, [
      { text: 'Fuel.', vector: Float32Array.of(0.95, Math.sqrt(1 - 0.95 ** 2), 0, 0) },
      { text: 'Something else.', vector: Float32Array.of(1, 0, 0, 0) },
    ]);
    const found = await search(space, { query: 'automobile running out of fuel' });
    expect(textsOf(found)).toEqual(['Something else.', 'Fuel.']);
    expect(found[1]?.score).toBeGreaterThan(0.94);
  });

  test('a search by both weighs the meaning of chunks that only their words have found', async () => {
    const space = await newSpace(arranged, 4);
    const crowd = Array.from({ length: 210 }, (_, n) => ({
      text: `Passage ${n}.`,
      vector: Float32Array.of(Math.cos(n / 1_000), Math.sin(n / 1_000), 0, 0),
    }));
    const rare = {
      text: 'The zeppelin, no automobile.',
      vector: Float32Array.of(Math.cos(0.3), Math.sin(0.3), 0, 0),
    };
    await addDocument(space, { title: 'crowd' }, [...crowd, rare]);
    const found = await search(space, { query: 'automobile zeppelin', limit: 1 });
    expect(textsOf(found)).toEqual(['The zeppelin, no automobile.']);
    expect(found[0]?.score).toBeGreaterThan(Math.cos(0.3) + 0.3);
    expect(found[0]?.score).toBeLessThan(Math.cos(0.3) + 0.6);
  });

  test('returns as many results as requested, ten by default', async () => {
    const space = await newSpace(arranged, 4);
    const chunks = Array.from({ length: 60 }, (_, n) => ({ text: `The car number ${n}.` }));
    await addDocument(space, { title: 'cars' }, chunks);
    for (const mode of ['vector', 'text', 'hybrid'] as const) {
      expect(await search(space, { query: 'car', mode })).toHaveLength(10);
      expect(await search(space, { query: 'car', mode, limit: 3 })).toHaveLength(3);
      expect(await search(space, { query: 'car', mode, limit: 50 })).toHaveLength(50);
      expect(await search(space, { query: 'car', mode, limit: 1_000 })).toHaveLength(50);
    }
  });
});

describe('what is found', () => {
  test('is one result for a text that two documents have: the first of them, with the other place', async () => {
    const space = await newSpace(arranged, 4);
    const first = await addDocument(space, { title: 'first' }, [{ text: 'A shared car.' }]);
    await addDocument(space, { title: 'second' }, [{ text: 'Own bread.' }, { text: 'A shared car.' }]);
    const found = await search(space, { query: 'car', limit: 1 });
    expect(found.map(({ document }) => document.document_id)).toEqual([first]);
    expect(found[0]?.also_in).toEqual([
      {
        document: { document_id: expect.any(String), uri: 'file:second', title: 'second' },
        heading_path: [],
        start: 0,
        end: 13,
      },
    ]);
    const all = await search(space, { query: 'car' });
    expect(all.map(({ also_in }) => also_in?.length ?? 0)).toEqual([1, 0]);
  });

  test('belongs to current documents: text that is being added or removed is skipped', async () => {
    const space = await newSpace(arranged, 4);
    const hidden = (n: number) => [{ text: `A hidden automobile, ${n}.` }];
    for (let n = 0; n < 15; n += 1) {
      await addDocument(space, { title: `coming ${n}`, revision: 1, linked: 2 }, hidden(n));
      await addDocument(space, { title: `gone ${n}`, state: 'gone' }, hidden(n + 100));
    }
    await addDocument(space, { title: 'failed since', state: 'error' }, [{ text: 'A car that stayed.' }]);
    for (const mode of ['vector', 'hybrid'] as const) {
      const found = await search(space, { query: 'automobile', mode, limit: 2 });
      expect(textsOf(found)).toEqual(['A car that stayed.']);
    }
  });

  test('is nothing of another tenant, knowledge base or generation', async () => {
    const space = await newSpace(arranged, 4);
    const other = await newSpace(arranged, 4);
    await addDocument(other, { title: 'theirs' }, [{ text: 'Their car.' }]);
    await addDocument({ ...space, generation: 2 }, { title: 'next' }, [{ text: 'The next car.' }]);
    await addDocument({ ...space, kbId: 'another' }, { title: 'another' }, [{ text: 'Another car.' }]);
    await addDocument(space, { title: 'own' }, [{ text: 'Own car.' }]);
    for (const mode of ['vector', 'text', 'hybrid'] as const) {
      expect(textsOf(await search(space, { query: 'car', mode }))).toEqual(['Own car.']);
    }
    const asked = database.db.tenant(space.tenantId, (tx) =>
      listTextMatches(tx, other, { question: parseQuestion('car'), limit: 10 }),
    );
    await expect(asked).rejects.toThrow('another tenant');
  });

  test('is empty before the first run has ended, and for a query of stop words', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'own' }, [{ text: 'Own car.' }]);
    expect(await search(space, { query: 'the of and', mode: 'text' })).toEqual([]);
    expect(await search(space, { query: '-car', mode: 'text' })).toEqual([]);
    expect(await search(space, { query: 'the of car' })).toHaveLength(1);
    await database.owner('update knowledge_bases set generation = 0 where tenant_id = $1', [space.tenantId]);
    const { deps, asked } = searching();
    const { tenantId, kbId } = space;
    expect(await searchKnowledge(deps, { tenantId, kbId, query: 'car' })).toEqual({ results: [] });
    expect(asked, 'the query was not even embedded').toEqual([]);
  });
});

describe('the query', () => {
  test('is embedded as the index was, whatever the knowledge base says by now', async () => {
    const space = await newSpace(arranged, 4);
    await database.owner(
      `update knowledge_generations set embedder = '{"provider": "custom", "name": "old"}' where tenant_id = $1`,
      [space.tenantId],
    );
    await database.owner(
      `update knowledge_bases set embedder = '{"provider": "custom", "name": "new"}' where tenant_id = $1`,
      [space.tenantId],
    );
    const { deps, asked } = searching();
    await searchKnowledge(deps, { tenantId: space.tenantId, kbId: space.kbId, query: 'car' });
    expect(asked).toEqual([{ provider: 'custom', name: 'old' }]);
    await searchKnowledge(deps, { tenantId: space.tenantId, kbId: space.kbId, query: 'car', mode: 'text' });
    expect(asked).toHaveLength(1);
  });

  test('is embedded again if the index is replaced meanwhile', async () => {
    const space = await newSpace(arranged, 4);
    const next = { ...space, generation: 2 };
    await database.owner(
      `insert into knowledge_generations
       select tenant_id, kb_id, 2, fingerprint, dimensions, embedder, state, built_by_job
         from knowledge_generations where tenant_id = $1`,
      [space.tenantId],
    );
    await addDocument(space, { title: 'old' }, [{ text: 'The old car.' }]);
    await addDocument(next, { title: 'new' }, [{ text: 'The new car.' }]);
    const beforeEmbedding = async (): Promise<void> => {
      await database.owner('update knowledge_bases set generation = 2 where tenant_id = $1', [
        space.tenantId,
      ]);
    };
    const { deps, asked } = searching({ beforeEmbedding });
    const { results } = await searchKnowledge(deps, { ...space, query: 'car' });
    expect(textsOf(results)).toEqual(['The new car.']);
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['a NUL', 'a\0b'],
    ['half a character', 'a \ud83d b'],
    ['more than 8,000 characters', 'x'.repeat(8_001)],
    ['nothing', ' \n '],
  ])('is refused with %s in it', async (_, query) => {
    const space = await newSpace(arranged, 4);
    await expect(search(space, { query })).rejects.toMatchObject({
      code: 'search_query_refused',
      definition: { status: 422 },
    });
  });

  test('may be long, and full of characters with a meaning to the parser', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'own' }, [{ text: 'Own car.' }]);
    const words = Array.from({ length: 1_100 }, (_, n) => `word${n}`)
      .join(' ')
      .slice(0, 7_996);
    expect(await search(space, { query: `${words} car` })).toHaveLength(1);
    const odd = [
      `car & | ! ( ) : * <-> ' " \\`,
      `"car`,
      `car's -"`,
      `or or car`,
      `-"-"car`,
      `'':*car%_`,
      `car\tß漢字🚗`,
    ];
    for (const query of odd) {
      expect(await search(space, { query, mode: 'text' }), query).toHaveLength(1);
    }
  });

  test('a query that the embedder refuses is searched by its words, except in a search by meaning only', async () => {
    const space = await newSpace(arranged, 4);
    await addDocument(space, { title: 'own' }, [{ text: 'Number 4711.' }, { text: 'Own car.' }]);
    const { deps } = searching({
      beforeEmbedding: async () => {
        throw embedderErrors.raise.embedder_refused('Nothing can be seen in it');
      },
    });
    const found = await searchKnowledge(deps, { ...space, query: '4711' });
    expect(textsOf(found.results)).toEqual(['Number 4711.']);
    const refused = { code: 'embedder_refused' };
    await expect(searchKnowledge(deps, { ...space, query: '4711', mode: 'vector' })).rejects.toMatchObject(
      refused,
    );
  });

  test('a query that takes too long to embed is a 503', async () => {
    const space = await newSpace(arranged, 4);
    const controller = new AbortController();
    const { deps } = searching({
      beforeEmbedding: async (signal) => {
        controller.abort();
        signal.throwIfAborted();
      },
    });
    const given = searchKnowledge(deps, { ...space, query: 'car', signal: controller.signal });
    await expect(given).rejects.toMatchObject({ code: 'search_timed_out' });
  });

  test('is given up if the index is replaced again and again', async () => {
    const space = await newSpace(arranged, 4);
    await database.owner(
      `insert into knowledge_generations
       select tenant_id, kb_id, n, fingerprint, dimensions, embedder, state, built_by_job
         from knowledge_generations, generate_series(2, 9) n where tenant_id = $1`,
      [space.tenantId],
    );
    const beforeEmbedding = async (): Promise<void> => {
      const next = 'update knowledge_bases set generation = generation + 1 where tenant_id = $1';
      await database.owner(next, [space.tenantId]);
    };
    const { deps, asked } = searching({ beforeEmbedding });
    const given = searchKnowledge(deps, { ...space, query: 'car' });
    await expect(given).rejects.toMatchObject({ code: 'search_index_moved' });
    expect(asked).toHaveLength(3);
  });

  test('a query for a knowledge base that does not exist is a 404', async () => {
    const space = await newSpace(arranged, 4);
    await expect(search({ ...space, kbId: 'none' }, { query: 'car' })).rejects.toMatchObject({
      code: 'knowledge_base_not_found',
    });
  });

  test('is refused if the vectors of the embedder do not fit the index', async () => {
    const space = await newSpace(arranged, 5);
    await expect(search(space, { query: 'car' })).rejects.toMatchObject({ code: 'vector_dimensions_differ' });
  });
});

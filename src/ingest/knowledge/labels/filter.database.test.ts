import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../../test/chaos/seeded-random.ts';
import { newSpace } from '../../../../test/support/probes/vector-spaces.ts';
import { writeDocument } from '../../../../test/support/probes/word-search.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { VectorSpace } from '../index/vector/engine.ts';
import { compileFilter } from './filter.ts';
import type { Metadata, MetadataValue } from './types.ts';

const database = useDatabase();

async function spaceWith(documents: readonly Metadata[]): Promise<VectorSpace> {
  const arranged = {
    tenant: database.db.tenant.bind(database.db),
    owner: database.owner,
  };
  const space = await newSpace(arranged, 4);
  for (const [at, metadata] of documents.entries()) {
    const documentId = await writeDocument(arranged, space, {
      document: { title: `${at}` },
      chunks: [{ text: `text ${at}` }],
    });
    await database.owner(
      'update knowledge_documents set own_metadata = $2 where tenant_id = $1 and document_id = $3',
      [space.tenantId, JSON.stringify(metadata), documentId],
    );
  }
  return space;
}

/** The places of the documents that the database finds. */
async function found({ tenantId, kbId, generation }: VectorSpace, filter: object): Promise<number[]> {
  const { path } = compileFilter(filter);
  const rows = await database.db.tenant(tenantId, (tx) =>
    tx.rows<{ title: string }>(sql`
      select d.title
        from matching_documents(${tenantId}, ${kbId}, ${generation}, ${path}::jsonpath) m
        join knowledge_documents d on d.tenant_id = ${tenantId} and d.document_id = m.document_id`),
  );
  return rows.map(({ title }) => Number(title)).toSorted((one, other) => one - other);
}

/** The same filters by the book, without a database. */
function matches(metadata: Metadata, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    if (name === '$and') return (wanted as Record<string, unknown>[]).every((one) => matches(metadata, one));
    if (name === '$or') return (wanted as Record<string, unknown>[]).some((one) => matches(metadata, one));
    if (name === '$not') return !matches(metadata, wanted as Record<string, unknown>);
    const values = name in metadata ? [metadata[name] as MetadataValue].flat() : [];
    if (wanted === null || typeof wanted !== 'object' || Array.isArray(wanted)) {
      return values.some((value) => [wanted].flat().includes(value));
    }
    const { exists, ...tests } = wanted as Record<string, unknown>;
    if (exists !== undefined && name in metadata !== exists) return false;
    const compared = Object.entries(tests);
    return compared.length === 0 || values.some((value) => compared.every((one) => compares(value, ...one)));
  });
}

function compares(value: MetadataValue, operator: string, operand: unknown): boolean {
  if (operator === 'in') return (operand as unknown[]).includes(value);
  if (operator === 'eq') return value === operand;
  if (typeof value !== typeof operand) return false;
  const [a, b] = [value as number, operand as number];
  return { gt: a > b, gte: a >= b, lt: a < b, lte: a <= b }[operator] ?? false;
}

const words = [
  'sales',
  'hr',
  "O'Brien",
  'a "quoted" word',
  'back\\slash',
  '$.x',
  'ünïcode',
  '2024-01-31',
  '',
];

function randomMetadata(next: () => number): Metadata {
  const pick = (): string | number | boolean =>
    [words[Math.floor(next() * words.length)] ?? '', Math.floor(next() * 5), next() < 0.5][
      Math.floor(next() * 3)
    ] as string;
  const metadata: Metadata = {};
  for (const name of ['team', 'year', 'with "quotes"', 'dotted.name']) {
    const kind = next();
    if (kind < 0.6) metadata[name] = pick();
    else if (kind < 0.8) metadata[name] = [pick(), pick()];
  }
  return metadata;
}

function randomFilter(next: () => number, depth = 1): Record<string, unknown> {
  const inner = () => randomFilter(next, depth + 1);
  const kind = next();
  if (depth < 3 && kind < 0.15) return { $and: [inner(), inner()] };
  if (depth < 3 && kind < 0.3) return { $or: [inner(), inner()] };
  if (depth < 3 && kind < 0.4) return { $not: inner() };
  const name = ['team', 'year', 'with "quotes"', 'dotted.name', 'nowhere'][Math.floor(next() * 5)] ?? 'team';
  const word = words[Math.floor(next() * words.length)] ?? '';
  const number = Math.floor(next() * 5);
  const conditions = [
    word,
    number,
    next() < 0.5,
    [word, number],
    { gte: number },
    { gt: number - 2, lte: number },
    { gte: word },
    { lt: word, exists: true },
    { exists: next() < 0.5 },
    { in: [number, word] },
    { eq: word },
  ];
  return { [name]: conditions[Math.floor(next() * conditions.length)] };
}

describe('a filter', () => {
  test('finds what a second implementation finds, for 400 random filters', async () => {
    const random = seededRandom(24);
    const next = () => random.next();
    const documents = Array.from({ length: 60 }, () => randomMetadata(next));
    const space = await spaceWith(documents);
    let hits = 0;
    for (let round = 0; round < 400; round += 1) {
      const filter = randomFilter(next);
      const expected = documents.flatMap((metadata, at) => (matches(metadata, filter) ? [at] : []));
      expect(await found(space, filter), JSON.stringify(filter)).toEqual(expected);
      hits += expected.length;
    }
    expect(hits).toBeGreaterThan(1_000);
  });

  test.each([
    ['a list at the top', ['team']],
    ['an empty object', {}],
    ['an empty condition', { team: {} }],
    ['an unknown condition', { team: { like: 'x' } }],
    ['an unknown combination', { $nor: [] }],
    ['null', { team: null }],
    ['a nested value', { team: { eq: { a: 1 } } }],
    ['an empty list', { team: [] }],
    ['NUL', { team: 'a\0b' }],
    ['five levels', { $not: { $not: { $not: { $not: { team: 'x' } } } } }],
    ['51 conditions', { team: Array.from({ length: 51 }, (_, n) => n) }],
    ['exists with a text', { team: { exists: 'yes' } }],
  ])('refuses %s and says where', (_, filter) => {
    expect(() => compileFilter(filter)).toThrow(
      expect.objectContaining({ code: 'knowledge_filter_refused', fields: [expect.anything()] }),
    );
  });

  test('uses the index of the metadata where few of many documents match', async () => {
    const space = await spaceWith([{ team: 'sales' }]);
    const { tenantId, kbId, generation } = space;
    await database.owner(
      `insert into knowledge_documents (tenant_id, kb_id, document_id, generation, source_id, uri, uri_key, title,
                                        state, created_by_job, last_job, own_metadata)
       select $1, $2, gen_random_uuid(), $3, gen_random_uuid(), n::text, sha256(n::text::bytea), n::text, 'indexed',
              gen_random_uuid(), gen_random_uuid(), jsonb_build_object('customer', 'c' || n)
         from generate_series(1, 20000) n`,
      [tenantId, kbId, generation],
    );
    await database.owner('analyze knowledge_documents');
    const { path } = compileFilter({ customer: 'c77' });
    const [plan] = await database.owner<{ 'QUERY PLAN': string }>(
      `explain (format json) select document_id from knowledge_documents d
        where d.tenant_id = '${tenantId}' and d.kb_id = '${kbId}' and d.generation = ${generation}
          and d.metadata @@ '${path}'::jsonpath`,
    );
    expect(JSON.stringify(plan)).toContain('knowledge_documents_metadata');
    expect(await found(space, { customer: 'c77' })).toEqual([77]);
  });
});

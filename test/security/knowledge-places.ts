import { newId } from '../../src/lib/ids.ts';
import type { TestClaims } from '../support/servers/server.ts';
import type { Place, Sent, Turn } from './each-string.ts';

interface Means {
  made(claims: TestClaims, path: string, body: unknown): Promise<Record<string, unknown>>;
  firstRow(statement: string, id: unknown): Promise<Record<string, unknown>>;
}

const word: Place = { back: null, why: 'a word of a list' };
const address = 'most strings are no addresses';

/** Where the texts of knowledge bases and their sources can be found again. */
export function knowledgePlaces({ made, firstRow }: Means): Record<string, Place> {
  const newKb = async ({ claims }: Turn) => {
    const { kb_id: kbId } = await made(claims, '/api/knowledge', { name: newId() });
    return { kb_id: String(kbId) };
  };
  const kbField = (path: string) => async (sent: Sent) => {
    const kbId = sent.params.kb_id ?? sent.told.body.kb_id;
    const statement = `select to_jsonb(b) #>> '{${path}}' as value from knowledge_bases b where kb_id = $1`;
    return (await firstRow(statement, kbId)).value;
  };
  const sourceField = (path: string) => async (sent: Sent) => {
    const statement = `select settings #>> '{${path}}' as value from knowledge_sources
                        where kb_id = $1 and type <> 'files'`;
    return (await firstRow(statement, sent.told.body.kb_id)).value;
  };
  const newDocument = async (turn: Turn) => {
    const { kb_id: kbId } = await newKb(turn);
    const row = await firstRow(
      `insert into knowledge_documents (tenant_id, kb_id, document_id, generation, source_id, uri, uri_key, title,
                                        state, created_by_job, last_job)
       select b.tenant_id, b.kb_id, gen_random_uuid(), 0, gen_random_uuid(), 'x', sha256('x'), 'x', 'indexed',
              gen_random_uuid(), gen_random_uuid()
         from knowledge_bases b where kb_id = $1
       returning document_id`,
      kbId,
    );
    return { kb_id: kbId, document_id: String(row.document_id) };
  };
  const documentField = (path: string) => async (sent: Sent) => {
    const statement = `select ${path} as value from knowledge_labels l where kb_id = $1`;
    return (await firstRow(statement, sent.params.kb_id)).value;
  };
  const add = 'POST /api/knowledge';
  const change = 'PATCH /api/knowledge/:kb_id';
  const addSource = 'POST /api/knowledge/:kb_id/sources';
  const changing = (place: Place): Place => ({ ...place, params: newKb, isAlike: true });
  return {
    [`${add} /kb_id`]: { back: kbField('kb_id'), params: forgetKb(firstRow) },
    [`${add} /name`]: { back: kbField('name') },
    [`${change} /name`]: changing({ back: kbField('name') }),
    ...under(`${add} `, settingPlaces(kbField), (place) => ({ ...place, isAlike: true })),
    ...under(`${change} `, settingPlaces(kbField), changing),
    ...under(`${add} /sources/0`, sourcePlaces(sourceField), (place) => ({ ...place, isAlike: true })),
    ...under(`${addSource} `, sourcePlaces(sourceField), changing),
    ...under('PATCH /api/knowledge/:kb_id/documents/:document_id ', labelPlaces(documentField), (place) => ({
      ...place,
      params: newDocument,
      isAlike: true,
    })),
    'POST /api/knowledge/:kb_id/search /filter/*': {
      back: null,
      why: 'a condition',
      params: newKb,
      base: { query: 'x' },
      isAlike: true,
    },
    ...askedPlaces(newKb),
    'POST /api/knowledge/:kb_id/search /query': { back: null, why: 'a question', params: newKb },
    'POST /api/knowledge/:kb_id/search /mode': { ...word, params: newKb, isAlike: true },
  };
}

/** What another test has made under the same id would stand in the way. */
function forgetKb(firstRow: Means['firstRow']): NonNullable<Place['params']> {
  return async ({ text }) => {
    const isStorable = !/[\0\p{Surrogate}]/u.test(text);
    if (isStorable) await firstRow('delete from knowledge_bases where kb_id = $1', text);
    return {};
  };
}

function under(
  prefix: string,
  places: Record<string, Place>,
  as: (place: Place) => Place,
): Record<string, Place> {
  return Object.fromEntries(Object.entries(places).map(([name, place]) => [`${prefix}${name}`, as(place)]));
}

type FieldOf = (path: string) => Place['back'];

function settingPlaces(field: FieldOf): Record<string, Place> {
  return {
    '/chunker/strategy of markdown': word,
    '/chunker/strategy of recursive': word,
    '/chunker/strategy of fixed': word,
    '/chunker/context of markdown': word,
    '/chunker/context of recursive': word,
    '/chunker/context of fixed': word,
    '/embedder/provider of local': word,
    '/embedder/model of local': word,
    '/language': word,
    '/embedder/provider of openai': word,
    '/embedder/base_url of openai': { back: field('embedder,baseUrl'), why: address },
    '/embedder/model of openai': { back: field('embedder,model') },
    '/embedder/api_key_secret of openai': { back: field('embedder,apiKeySecret') },
    '/embedder/provider of custom': word,
    '/embedder/name of custom': { back: null, why: 'has to be one of the configuration' },
    '/reranker/provider of endpoint': word,
    '/reranker/url of endpoint': { back: field('reranker,url'), why: address },
    '/reranker/model of endpoint': { back: field('reranker,model') },
    '/reranker/api_key_secret of endpoint': { back: field('reranker,apiKeySecret') },
    '/reranker/provider of custom': word,
    '/reranker/name of custom': { back: null, why: 'has to be one of the configuration' },
  };
}

function sourcePlaces(field: FieldOf): Record<string, Place> {
  const texts = ['markdown', 'text', 'html'].flatMap((type): [string, Place][] => [
    [`/type of ${type}`, word],
    [`/content of ${type}`, { back: field('content') }],
    [`/title of ${type}`, { back: field('title') }],
  ]);
  return {
    ...Object.fromEntries(texts),
    '/type of folder': word,
    '/path of folder': { back: field('path') },
    ...rulePlaces(field, 'folder'),
    '/type of website': word,
    '/url of website': { back: field('url'), why: address },
    '/include/0 of website': { back: field('include,0') },
    '/exclude/0 of website': { back: field('exclude,0') },
    ...rulePlaces(field, 'website'),
    '/type of s3': word,
    '/endpoint of s3': { back: field('endpoint'), why: address },
    '/region of s3': { back: field('region'), why: 'letters, digits and dashes' },
    '/bucket of s3': { back: field('bucket'), why: 'a name of letters, digits, dots and dashes' },
    '/prefix of s3': { back: field('prefix') },
    '/access_key_id_secret of s3': { back: field('access_key_id_secret') },
    '/secret_access_key_secret of s3': { back: field('secret_access_key_secret') },
    ...rulePlaces(field, 's3'),
    '/type of zip': word,
    '/url of zip': { back: field('url'), why: address },
    '/path of zip': { back: field('path') },
    ...needingMore(rulePlaces(field, 'zip'), 'an archive without a place is refused'),
    '/type of git': word,
    '/url of git': { back: field('url'), why: address },
    '/ref of git': { back: field('ref') },
    '/path of git': { back: field('path') },
    '/username of git': { back: field('username') },
    '/token_secret of git': { back: field('token_secret') },
    ...rulePlaces(field, 'git'),
    '/type of youtube': word,
    '/url of youtube': { back: field('url'), why: address },
    '/language of youtube': { back: field('language'), why: 'a short word' },
  };
}

function needingMore(places: Record<string, Place>, why: string): Record<string, Place> {
  return Object.fromEntries(Object.entries(places).map(([name, place]) => [name, { why, ...place }]));
}

const anyName = 'the name of a field, beside others of the same list';

function rulePlaces(field: FieldOf, type: string): Record<string, Place> {
  const base = type;
  return {
    [`/rules/0/path_prefix of ${base}`]: { back: field('rules,0,path_prefix') },
    [`/rules/0/allow/0 of ${base}`]: { back: field('rules,0,allow,0') },
    '/rules/0/metadata/*': { back: null, why: anyName },
    [`/rules/0/metadata/*= of ${base}`]: { back: null, why: 'a value under any name' },
    [`/rules/0/metadata/*/0 of ${base}`]: { back: null, why: 'a value under any name' },
  };
}

function labelPlaces(column: (path: string) => Place['back']): Record<string, Place> {
  return {
    '/allow/0': { back: column('l.allow[1]') },
    '/metadata/*': { back: null, why: anyName },
    '/metadata/*=': { back: column("(select e.value #>> '{}' from jsonb_each(l.metadata) e limit 1)") },
    '/metadata/*/0': { back: column("(select e.value #>> '{0}' from jsonb_each(l.metadata) e limit 1)") },
  };
}

/** Questions, and what they are narrowed to: nothing of them is kept but the questions of an evaluation. */
function askedPlaces(params: NonNullable<Place['params']>): Record<string, Place> {
  const asked: Place = { back: null, why: 'a question', isAlike: true };
  const base = { query: 'x' };
  const all = 'POST /api/knowledge/search';
  const openAi = 'POST /v1/vector_stores/:vector_store_id/search';
  const store = async (turn: Turn) => ({ vector_store_id: (await params(turn)).kb_id ?? '' });
  const question = { query: 'x', relevant: ['file:x'] };
  const evaluation = { params, base: { questions: [question] } };
  return {
    [`${all} /query`]: asked,
    [`${all} /kb_ids/0`]: { ...asked, base },
    [`${all} /mode`]: { ...asked, base },
    [`${all} /filter/*`]: { ...asked, base },
    [`${all} /facets/0`]: { ...asked, base },
    [`${openAi} /query`]: { ...asked, params: store },
    [`${openAi} /query/0`]: { ...asked, params: store, base: { query: ['x'] } },
    [`${openAi} /filters/*`]: { ...asked, params: store, base },
    [`${openAi} /ranking_options/ranker`]: { ...asked, params: store, base },
    'POST /api/knowledge/:kb_id/evaluations /questions/0/query': { ...asked, ...evaluation },
    'POST /api/knowledge/:kb_id/evaluations /questions/0/relevant/0': { ...asked, ...evaluation },
    'POST /api/knowledge/:kb_id/evaluations /questions/0/relevant/0/uri': {
      ...asked,
      params,
      base: { questions: [{ query: 'x', relevant: [{ uri: 'file:x', grade: 1 }] }] },
    },
    'POST /api/knowledge/:kb_id/evaluations /mode': { ...asked, ...evaluation },
  };
}

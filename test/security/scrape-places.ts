import { newId } from '../../src/lib/ids.ts';
import type { TestClaims } from '../support/servers/server.ts';
import type { Place, Sent, Turn } from './each-string.ts';
import type { Product } from './product.ts';

interface Means {
  product: Pick<Product, 'ask'>;
  firstRow(statement: string, id: unknown): Promise<Record<string, unknown>>;
}

const word: Place = { back: null, why: 'a word of a list' };
const address = 'most strings are no addresses';

/** Where the texts of scrape sources and references can be found again. */
export function scrapePlaces({ product, firstRow }: Means): Record<string, Place> {
  /** As the smallest body names it; the first string of a lane makes it, the others find it there. */
  const makeKb = (claims: TestClaims) =>
    product.ask(claims, {
      method: 'POST',
      path: '/api/knowledge',
      body: { kb_id: 'an example', name: 'One' },
    });
  const freshName = async ({ claims }: Turn) => {
    await makeKb(claims);
    return { source: `naughty-${newId()}` };
  };
  const newSource = async (turn: Turn) => {
    const { source } = await freshName(turn);
    const body = { mode: 'push', kb_id: 'an example' };
    await product.ask(turn.claims, { method: 'PUT', path: `/api/scraping/sources/${source}`, body });
    return { source };
  };
  const sourceField =
    (path: string) =>
    async ({ params }: Sent) => {
      const statement = `select to_jsonb(s) #>> '{${path}}' as value from scrape_sources s where source = $1`;
      const { value } = await firstRow(statement, params.source);
      return value;
    };
  const referenceField =
    (column: string) =>
    async ({ params }: Sent) =>
      (await firstRow(`select ${column} as value from scrape_references r where source = $1`, params.source))
        .value;
  /** A path prefix begins with a slash, even if it was given without one. */
  const prefixField = (path: string) => async (sent: Sent) => {
    const value = await sourceField(path)(sent);
    return value === `/${sent.text}` ? sent.text : value;
  };
  const put = 'PUT /api/scraping/sources/:source';
  const sync = 'POST /api/scraping/:source/sync';
  const putting = (place: Place): Place => ({ ...place, params: freshName });
  const reference = { external_id: 'a', url: 'https://example.com/a', title: 'a', content: 'a' };
  const syncing = (place: Place): Place => ({
    ...place,
    params: newSource,
    base: { references: [reference] },
  });
  const kb = 'has to be a knowledge base that there is';
  return {
    [`${put} /mode of push`]: putting(word),
    [`${put} /kb_id of push`]: putting({ back: sourceField('kb_id'), why: kb }),
    [`${put} /mode of crawl`]: putting({ ...word, isAlike: true }),
    [`${put} /kb_id of crawl`]: putting({ back: sourceField('kb_id'), why: kb, isAlike: true }),
    [`${put} /kind of crawl`]: putting(word),
    [`${put} /url of crawl`]: putting({ back: sourceField('url'), why: address }),
    [`${put} /include/0 of crawl`]: putting({ back: prefixField('settings,include,0') }),
    [`${put} /exclude/0 of crawl`]: putting({ back: prefixField('settings,exclude,0'), isAlike: true }),
    [`${sync} /references/0/external_id`]: syncing({ back: referenceField('external_id') }),
    [`${sync} /references/0/url`]: syncing({ back: referenceField('url'), why: address }),
    [`${sync} /references/0/title`]: syncing({ back: referenceField('title') }),
    [`${sync} /references/0/content`]: syncing({ back: referenceField('content') }),
    [`${sync} /references/0/media_type`]: syncing(word),
    [`${sync} /references/0/metadata/*`]: syncing({
      back: referenceField('(select k from jsonb_object_keys(r.metadata) k)'),
    }),
  };
}

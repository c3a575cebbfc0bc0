import type { TestClaims } from '../support/servers/server.ts';
import type { Place, Sent, Turn } from './each-string.ts';
import type { Product } from './product.ts';

interface Means {
  product: Product;
  made(claims: TestClaims, path: string, body: unknown): Promise<Record<string, unknown>>;
  firstRow(statement: string, id: unknown): Promise<Record<string, unknown>>;
}

/** Where corrected values of rows can be found again. */
export function itemPlaces({ product, made, firstRow }: Means): Record<string, Place> {
  /** A row that nobody has processed yet. */
  const newItem = async ({ claims }: Turn) => {
    const form = new FormData();
    form.set('file', new Blob(['title,A column\none,two\n']), 'a.csv');
    const { jobId } = await made(claims, '/api/jobs', form);
    const { id } = await firstRow('select id from job_items where job_id = $1', jobId);
    return { job_id: String(jobId), item_id: String(id) };
  };
  const back = async ({ params, claims }: Sent) => {
    const { body } = await product.ask(claims, { path: `/api/jobs/${params.job_id}/corrections` });
    const [last] = body.data as { newValue: string }[];
    return last === undefined ? undefined : JSON.parse(last.newValue);
  };
  const template = 'PUT /api/items/templates/:name';
  const params = async () => ({ name: 'naughty' });
  const named: Place = { back: null, why: 'has to be a processor, or an option of it', params };
  const mapped = async ({ told }: Sent) => Object.entries(told.body.mapping as Record<string, string>)[0];
  const base = { processor: 'noop', mapping: {} };
  const route = 'PATCH /api/jobs/:job_id/items/:item_id';
  const column = { back: null, why: 'names a column of the file', params: newItem };
  return {
    [`${route} /column`]: { ...column, base: { value: 'x' } },
    [`${route} /value`]: { back, params: newItem, base: { column: 'title' } },
    [`${route} /input/*`]: { ...column, base: { input: {} }, isAlike: true },
    [`${route} /input/*=`]: { back, params: newItem, base: { input: {} }, isAlike: true },
    [`${template} /processor`]: named,
    [`${template} /options/*`]: { ...named, base: { processor: 'noop', options: {} } },
    [`${template} /mapping/*`]: {
      back: async (sent) => (await mapped(sent))?.[0],
      params,
      base,
      isAlike: true,
    },
    [`${template} /mapping/*=`]: {
      back: async (sent) => (await mapped(sent))?.[1],
      params,
      base,
      isAlike: true,
    },
  };
}

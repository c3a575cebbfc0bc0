import { newId } from '../../src/lib/ids.ts';
import type { Place, Turn } from './each-string.ts';
import type { Product } from './product.ts';

/** Rows that are only matched leave nothing behind: what they hold must not break the lookup. */
export function catalogPlaces({ product }: { product: Pick<Product, 'ask'> }): Record<string, Place> {
  const newCatalog = async ({ claims }: Turn) => {
    const name = `naughty-${newId()}`;
    const body = new FormData();
    body.set('file', new Blob(['sku,brand,title\n1,Acme,Ladder of steel\n']), 'products.csv');
    await product.ask(claims, { method: 'PUT', path: `/api/catalogs/${name}`, body });
    return { name };
  };
  const match = 'POST /api/catalogs/:name/match';
  const column: Place = { back: null, why: 'names a column of the row', params: newCatalog };
  return {
    [`${match} /rows/0/*`]: { ...column, why: 'a column of a row that is not kept' },
    [`${match} /fields/sku`]: column,
    [`${match} /fields/brand`]: { ...column, isAlike: true },
    [`${match} /fields/title`]: { ...column, isAlike: true },
    [`${match} /strategies/0`]: { ...column, why: 'a word of a list' },
  };
}

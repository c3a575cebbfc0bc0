import { note, print, printJson, table } from '../terminal/output.ts';
import type { Client, Query } from './client.ts';

export const maxListed = 10_000;
const maxPageSize = 500;

interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
}

type Listed<Item> = Pick<Page<Item>, 'data' | 'has_more'>;

/** Up to `limit` items of a list of the API, over as many pages as that takes. */
export async function readPages<Item>(
  client: Client,
  route: string,
  { query, limit }: { query: Query; limit: number },
): Promise<Listed<Item>> {
  const data: Item[] = [];
  let cursor: string | undefined;
  for (;;) {
    const pageSize = Math.min(maxPageSize, limit - data.length);
    const page = await client.get<Page<Item>>(route, { query: { ...query, limit: pageSize, cursor } });
    data.push(...page.data);
    const isEnough = data.length >= limit || page.data.length === 0 || page.next_cursor === null;
    if (isEnough) return { data, has_more: page.has_more };
    cursor = page.next_cursor ?? undefined;
  }
}

export function printList<Item>(
  list: Listed<Item>,
  options: { json: boolean | undefined; nothing: string; header: string[]; row: (item: Item) => string[] },
): void {
  if (options.json) printJson(list);
  else if (list.data.length === 0) note(options.nothing);
  else print(table([options.header, ...list.data.map(options.row)]));
  if (list.has_more) note(`These are the first ${list.data.length}; --limit shows more.`);
}

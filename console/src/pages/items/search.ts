import { oneOf, type ParamReader, searchParser, someOf, text, wholeNumber } from '../../list-state.ts';
import { type ItemStatus, itemStatuses } from './item-status.ts';
import { type RowOrder, rowOrders } from './row-order.ts';

export const itemJobStates = [
  'queued',
  'running',
  'paused',
  'failed',
  'dead_letter',
  'success',
  'canceled',
] as const;

export interface ItemsSearch {
  status: (typeof itemJobStates)[number];
}

export const itemsSearch = searchParser<ItemsSearch>({
  status: oneOf(itemJobStates),
});

export interface NewItemsSearch {
  processor: 'noop' | 'validate' | 'http' | 'llm' | 'chain' | 'catalog' | 'image';
}

export const newItemsSearch = searchParser<NewItemsSearch>({
  processor: oneOf(['noop', 'validate', 'http', 'llm', 'chain', 'catalog', 'image']),
});

export interface ItemSearch {
  tab: 'rows' | 'pending' | 'control';
  statuses: ItemStatus[];
  /** Of failed rows: those that failed for this reason. */
  reason: string;
  /** The id of the row in the drawer, and what of it is shown. */
  row: string;
  part: 'result' | 'input' | 'calls' | 'history';
  columns: string;
  sort: RowOrder;
  /** Of filtered rows: those from this row of the file on. */
  from: number;
}

export const itemSearch = searchParser<ItemSearch>({
  tab: oneOf(['rows', 'pending', 'control']),
  statuses: someOf(itemStatuses),
  reason: text(),
  row: digits(),
  part: oneOf(['result', 'input', 'calls', 'history']),
  columns: long(),
  sort: oneOf(rowOrders),
  from: wholeNumber({ min: 1, max: 2 ** 31 - 1 }),
});

function digits(): ParamReader<string> {
  return (value) => (/^\d{1,18}$/.test(value) ? value : undefined);
}

/** Names of columns are as long as people make them. */
function long(): ParamReader<string> {
  const short = text();
  return (value) => (value.length > 500 && value.length < 6_000 ? value : short(value));
}

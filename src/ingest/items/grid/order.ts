import type { SluiceError } from '../../../lib/errors.ts';
import { itemErrors } from '../errors.ts';
import { type ItemStatus, itemStatuses } from '../types.ts';
import type { Order, Sort, SortColumn } from './types.ts';

export interface Wish {
  sort?: Sort | undefined;
  statuses?: ItemStatus[] | undefined;
  minAttempts?: number | undefined;
  errorCode?: string | undefined;
}

const failed: readonly ItemStatus[] = ['ERROR', 'NOT_FOUND'];

/** Refuses an order that no index has: it would read all rows of the job for every page. */
export function orderOf({ sort, statuses, minAttempts, errorCode }: Wish): Order {
  const chosen = sort ?? (minAttempts === undefined ? 'rowNo' : '-attempts');
  const descending = chosen.startsWith('-');
  const column = chosen.replace('-', '') as SortColumn;
  const asked = statuses ?? [...itemStatuses];
  const refuse = (message: string, pointer = '/sort') => unserved(`sort=${chosen}: ${message}`, pointer);
  if (minAttempts !== undefined && column !== 'attempts') {
    throw refuse('minAttempts lists rows by their tries; use sort=attempts or sort=-attempts with it');
  }
  if (errorCode !== undefined && column !== 'rowNo') {
    throw refuse(
      'rows of one errorCode are in the order of the file; leave sort out, or use rowNo or -rowNo',
    );
  }
  if (column === 'attempts' && minAttempts === undefined) {
    throw refuse('only rows that were tried again are in an index; add minAttempts=2', '/minAttempts');
  }
  if (column === 'updatedAt' && asked.includes('DONE')) {
    throw refuse('rows that are DONE have no index by time; name other statuses, such as ERROR,NOT_FOUND');
  }
  if (column === 'errorCode' && !asked.every((status) => failed.includes(status))) {
    throw refuse('only failed rows have a reason; add statuses=ERROR,NOT_FOUND');
  }
  if (column === 'nextAttemptAt' && !asked.every((status) => status === 'PENDING')) {
    throw refuse('only pending rows have a next attempt; add statuses=PENDING');
  }
  const order = { column, descending, statuses: asked };
  return { ...order, minAttempts: minAttempts ?? null, errorCode: errorCode ?? null };
}

function unserved(message: string, pointer: string): SluiceError {
  return itemErrors.raise.order_not_served(message, { fields: [{ pointer, message: 'has no index' }] });
}

import { type ItemStatus, openStatuses } from './item-status.ts';

export const rowOrders = [
  '-rowNo',
  'status',
  '-attempts',
  '-updatedAt',
  'updatedAt',
  'errorCode',
  'nextAttemptAt',
] as const;
export type RowOrder = (typeof rowOrders)[number];

const labels: Record<RowOrder, string> = {
  '-rowNo': 'Last row first',
  status: 'By state',
  '-attempts': 'Most tries first',
  '-updatedAt': 'Last changed first',
  updatedAt: 'First changed first',
  errorCode: 'By reason',
  nextAttemptAt: 'Next attempt first',
};

/** Whether the server has these rows in this order. Without states all rows are meant. */
export function isServed(order: RowOrder, statuses: readonly ItemStatus[] | undefined): boolean {
  const only = (...allowed: ItemStatus[]) => statuses?.every((status) => allowed.includes(status)) ?? false;
  if (order === '-rowNo') return !(statuses?.every((status) => openStatuses.includes(status)) ?? false);
  if (order === 'status' || order === '-attempts') return true;
  if (order === 'errorCode') return only('ERROR', 'NOT_FOUND');
  if (order === 'nextAttemptAt') return only('PENDING');
  return only('PENDING', 'PROCESSING', 'ERROR', 'NOT_FOUND', 'SKIPPED');
}

export function orderOptions(
  statuses: readonly ItemStatus[] | undefined,
): { value: string; label: string }[] {
  const served = rowOrders.filter((order) => isServed(order, statuses));
  const isOpenOnly = !served.includes('-rowNo');
  const usual = { value: '', label: isOpenOnly ? 'Longest unchanged first' : 'First row first' };
  return [usual, ...served.map((value) => ({ value, label: labels[value] }))];
}

/** What a request says to list rows in this order. */
export function orderQuery(order: RowOrder | undefined): { sort?: RowOrder; minAttempts?: number } {
  if (order === undefined) return {};
  return order === '-attempts' ? { sort: order, minAttempts: 2 } : { sort: order };
}

export const itemStatuses = ['DONE', 'NOT_FOUND', 'ERROR', 'SKIPPED', 'PROCESSING', 'PENDING'] as const;
export type ItemStatus = (typeof itemStatuses)[number];

/** What can be reprocessed: every row that has ended. */
export const endedStatuses = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED'] as const;
export type EndedStatus = (typeof endedStatuses)[number];
export const openStatuses: readonly ItemStatus[] = ['PENDING', 'PROCESSING'];

export function isEnded(status: ItemStatus): status is EndedStatus {
  return !openStatuses.includes(status);
}

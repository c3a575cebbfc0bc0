import type { Database, Tx } from '../../../lib/postgres/db.ts';
import { recordEvent } from '../../events/service.ts';
import { eventIdText } from '../../events/types.ts';
import type { WakeUp } from '../../jobs/wake-up.ts';
import { disableEndpoint, noteFailure, noteSuccess } from '../endpoints/endpoint-store.ts';
import type { DueDelivery, Outcome } from '../types.ts';
import { lockLane, recordAttempt, releaseLane } from './lane-store.ts';

interface SettlementDeps {
  db: Database;
  wake: WakeUp;
}

/**
 * Records the result of a try and gives the lane back. Returns false when the lease has gone to another sender, which
 * tries the same delivery again; then nothing is written.
 */
export function settleDelivery(deps: SettlementDeps, due: DueDelivery, outcome: Outcome): Promise<boolean> {
  return deps.db.kernel(async (tx) => {
    // The endpoint's row comes first: every transaction locks it before a lane.
    await noteHealth(deps, tx, { due, outcome });
    if (!(await lockLane(tx, due))) return false;
    await recordAttempt(tx, { ...due, attempt: outcome.attempt, status: statusAfter(outcome) });
    const isRetry = outcome.type === 'retry';
    await releaseLane(tx, {
      ...due,
      delayMs: isRetry ? outcome.delayMs : 0,
      notBeforeMs: isRetry ? outcome.notBeforeMs : null,
    });
    if (outcome.type === 'exhausted') await tellOfExhaustion(deps, tx, { due, outcome });
    return true;
  });
}

/** Gives a lane back unchanged: its delivery was not tried, or the lane is empty. */
export function returnLane(
  db: Database,
  lease: Pick<DueDelivery, 'tenantId' | 'webhookId' | 'lane' | 'token'>,
) {
  return db.kernel(async (tx) => {
    if (await lockLane(tx, lease)) await releaseLane(tx, { ...lease, delayMs: 0, notBeforeMs: null });
  });
}

function statusAfter({ type }: Outcome): string {
  return type === 'delivered' || type === 'exhausted' ? type : 'pending';
}

async function noteHealth(
  deps: SettlementDeps,
  tx: Tx,
  { due, outcome }: { due: DueDelivery; outcome: Outcome },
): Promise<void> {
  if (outcome.type === 'delivered') return noteSuccess(tx, due);
  if (outcome.type !== 'gone') {
    return noteFailure(tx, { ...due, isGivenUp: outcome.type === 'exhausted' && !isAboutWebhooks(due) });
  }
  const reason = outcome.attempt.error ?? '';
  if (!(await disableEndpoint(tx, { ...due, reason }))) return;
  await recordEvent(deps, tx, {
    tenantId: due.tenantId,
    type: 'webhook.disabled',
    subject: due.webhookId,
    data: { webhook_id: due.webhookId, tenant_id: due.tenantId, reason, delivery_id: due.deliveryId },
  });
}

/** Not for events about webhooks: endpoints that are all down would report each other for ever. */
async function tellOfExhaustion(
  deps: SettlementDeps,
  tx: Tx,
  { due, outcome }: { due: DueDelivery; outcome: Outcome },
): Promise<void> {
  if (isAboutWebhooks(due)) return;
  await recordEvent(deps, tx, {
    tenantId: due.tenantId,
    type: 'webhook.exhausted',
    subject: due.webhookId,
    data: {
      webhook_id: due.webhookId,
      tenant_id: due.tenantId,
      delivery_id: due.deliveryId,
      event_id: due.event ? eventIdText(due.event) : null,
      event_type: due.event?.type ?? null,
      tries: due.tries + 1,
      last_error: outcome.attempt.error,
    },
  });
}

function isAboutWebhooks({ event }: DueDelivery): boolean {
  return event?.type.startsWith('webhook.') ?? false;
}

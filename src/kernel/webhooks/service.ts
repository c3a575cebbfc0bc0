import { findMetadataRefusal, findRefusal } from '../../lib/fetch/addresses.ts';
import { assertLiteral, parseTarget } from '../../lib/fetch/target.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { LogReader } from '../events/reader.ts';
import { recordEvent } from '../events/service.ts';
import { findEvent } from '../events/store.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import { encryptSecret, type SecretKeys } from '../secrets/stored-secrets.ts';
import type { BeforeCommit, Principal } from '../tenancy/types.ts';
import {
  bringLaneForward,
  deleteDeliveriesOf,
  findDelivery,
  insertDelivery,
  reopenDelivery,
} from './deliveries/delivery-store.ts';
import { insertLanes } from './deliveries/fan-out-store.ts';
import {
  bringLanesForward,
  countEndpointsForInsert,
  deleteEndpoint,
  deleteLanes,
  findEndpoint,
  holdEndpoint,
  insertCursor,
  insertEndpoint,
  rotateSecret,
  updateEndpoint,
} from './endpoints/endpoint-store.ts';
import { newWebhookSecret } from './endpoints/signature.ts';
import { webhookErrors } from './errors.ts';
import {
  type Delivery,
  type DeliveryKey,
  type Endpoint,
  type EndpointChange,
  type EndpointKey,
  maxTries,
} from './types.ts';

export interface WebhookDeps {
  db: Database;
  wake: WakeUp;
  keys: SecretKeys;
  blockPrivateAddresses: boolean;
  maxEndpoints: number;
}

/** The secret is shown only here. */
export interface EndpointWithSecret extends Endpoint {
  secret: string;
}

/** How long the old secret stays valid after a rotation. */
const overlapMs = 24 * 3_600_000;
const deleteBatch = 10_000;
const maxDeleteBatches = 100;

export async function createEndpoint(
  deps: WebhookDeps,
  principal: Principal,
  input: { url: string; eventTypes: string[] | null; description: string | null },
  beforeCommit?: BeforeCommit<EndpointWithSecret>,
): Promise<EndpointWithSecret> {
  assertReachable(deps, input.url);
  const key = { tenantId: principal.tenantId, webhookId: newId() };
  const secret = newWebhookSecret();
  const stored = encryptSecret(deps.keys, { secret, place: placeOf(key) });
  const position = await LogReader.forTenant(deps.db, key.tenantId).end(key.tenantId);
  return deps.db.tenant(key.tenantId, async (tx) => {
    const count = await countEndpointsForInsert(tx, key.tenantId);
    if (count >= deps.maxEndpoints) {
      throw webhookErrors.raise.too_many_webhooks(
        `There are ${count} webhook endpoints; allowed are ${deps.maxEndpoints}`,
      );
    }
    const made = await insertEndpoint(tx, { ...key, ...input, secret: stored, createdBy: principal.userId });
    await insertCursor(tx, key, position);
    await beforeCommit?.(tx, { ...made, secret });
    return { ...made, secret };
  });
}

export async function getEndpoint(db: Database, key: EndpointKey): Promise<Endpoint> {
  return (await db.tenant(key.tenantId, (tx) => findEndpoint(tx, key))) ?? missing(key);
}

/** Enabling one, even one that is enabled, also tries at once what waits for a retry. */
export async function changeEndpoint(
  deps: WebhookDeps,
  key: EndpointKey,
  change: EndpointChange,
): Promise<Endpoint> {
  if (change.url !== undefined) assertReachable(deps, change.url);
  return deps.db.tenant(key.tenantId, async (tx) => {
    const changed = (await updateEndpoint(tx, { ...key, ...change })) ?? missing(key);
    if (change.isEnabled) await bringLanesForward(tx, key);
    wakeSenders(deps, tx);
    return changed;
  });
}

export async function rotateEndpointSecret(
  deps: WebhookDeps,
  key: EndpointKey,
  beforeCommit?: BeforeCommit<EndpointWithSecret>,
): Promise<EndpointWithSecret> {
  const secret = newWebhookSecret();
  const stored = encryptSecret(deps.keys, { secret, place: placeOf(key) });
  return deps.db.tenant(key.tenantId, async (tx) => {
    const rotated = (await rotateSecret(tx, { ...key, secret: stored, overlapMs })) ?? missing(key);
    await beforeCommit?.(tx, { ...rotated, secret });
    return { ...rotated, secret };
  });
}

/** With all its deliveries; what is too much for one request is removed by upkeep. */
export async function removeEndpoint({ db }: Pick<WebhookDeps, 'db'>, key: EndpointKey): Promise<void> {
  await db.tenant(key.tenantId, async (tx) => {
    if (!(await deleteEndpoint(tx, key))) missing(key);
    await deleteLanes(tx, key);
  });
  for (let batch = 0; batch < maxDeleteBatches; batch += 1) {
    const removed = await db.tenant(key.tenantId, (tx) =>
      deleteDeliveriesOf(tx, { ...key, onlyPending: false, limit: deleteBatch }),
    );
    if (removed < deleteBatch) return;
  }
}

/** Sends an event that only this endpoint gets. It is tried once: the caller is waiting for the result. */
export async function testEndpoint(
  deps: WebhookDeps,
  principal: Principal,
  webhookId: string,
  beforeCommit?: BeforeCommit<Delivery>,
): Promise<Delivery> {
  const { tenantId, userId } = principal;
  const key = { tenantId, webhookId };
  return deps.db.tenant(tenantId, async (tx) => {
    const endpoint = (await holdEndpoint(tx, key)) ?? missing(key);
    if (!endpoint.isEnabled) throw disabled(endpoint);
    const type = 'webhook.test';
    const position = await recordEvent(deps, tx, {
      tenantId,
      type,
      subject: webhookId,
      userId,
      data: { webhook_id: webhookId, tenant_id: tenantId, requested_by: userId },
    });
    const deliveryId = newId();
    await insertLanes(tx, { ...key, lanes: [deliveryId] });
    await insertDelivery(tx, { ...key, deliveryId, ...position, type, maxTries: 1 });
    const made = (await findDelivery(tx, { tenantId, deliveryId })) ?? missingDelivery(deliveryId);
    await beforeCommit?.(tx, made);
    return made;
  });
}

/** A delivery with its event; the event is null when it was removed from the log by hand. */
export async function getDelivery(db: Database, key: DeliveryKey) {
  return db.tenant(key.tenantId, async (tx) => {
    const delivery = (await findDelivery(tx, key)) ?? missingDelivery(key.deliveryId);
    return { delivery, event: await findEvent(tx, delivery) };
  });
}

/** A finished one is sent again with all its tries; one that waits is tried now. */
export async function resendDelivery(deps: WebhookDeps, key: DeliveryKey): Promise<Delivery> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    const found = (await findDelivery(tx, key)) ?? missingDelivery(key.deliveryId);
    const { tenantId, webhookId, lane } = found;
    const endpoint = (await holdEndpoint(tx, { tenantId, webhookId })) ?? missing(found);
    if (!endpoint.isEnabled) throw disabled(endpoint);
    if (found.status === 'pending') await bringLaneForward(tx, { tenantId, webhookId, lane });
    else {
      await insertLanes(tx, { tenantId, webhookId, lanes: [key.deliveryId] });
      await reopenDelivery(tx, { ...key, maxTries });
    }
    wakeSenders(deps, tx);
    return (await findDelivery(tx, key)) ?? missingDelivery(key.deliveryId);
  });
}

/** Bound to its place: the text of one endpoint's secret is of no use in another's row. */
export function placeOf({ tenantId, webhookId }: EndpointKey): string {
  return `webhook_endpoints/${tenantId}/${webhookId}`;
}

function wakeSenders({ wake }: WebhookDeps, tx: Tx): void {
  tx.afterCommit(() => wake.announce('events'));
}

/** Checks what is known without a name lookup; every connection checks the address itself. */
function assertReachable({ blockPrivateAddresses }: WebhookDeps, url: string): void {
  const refuse = blockPrivateAddresses ? findRefusal : findMetadataRefusal;
  const { hostname } = parseTarget(url, { refuse });
  // RFC 6761: this name and those below it mean the machine itself, whatever a look-up says.
  if (/(^|\.)localhost\.?$/.test(hostname)) assertLiteral('127.0.0.1', refuse);
}

function disabled({ webhookId }: { webhookId: string }): Error {
  return webhookErrors.raise.webhook_disabled(`The webhook endpoint ${webhookId} is disabled`);
}

function missing({ webhookId }: EndpointKey): never {
  throw webhookErrors.raise.webhook_not_found(`There is no webhook endpoint ${webhookId}`);
}

function missingDelivery(deliveryId: string): never {
  throw webhookErrors.raise.delivery_not_found(`There is no delivery ${deliveryId}`);
}

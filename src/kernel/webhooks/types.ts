import type { EventRow, LogPosition } from '../events/types.ts';

export const deliveryStatuses = ['pending', 'delivered', 'exhausted'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** How often a delivery is tried, unless it is a test. */
export const maxTries = 10;
export const maxEventTypes = 50;
export const maxUrlBytes = 8_000;
export const maxResponseBytes = 1_024;

export interface EndpointKey {
  tenantId: string;
  webhookId: string;
}

export interface DeliveryKey {
  tenantId: string;
  deliveryId: string;
}

export interface Endpoint extends EndpointKey {
  url: string;
  /** Null: all types. */
  eventTypes: string[] | null;
  description: string | null;
  isEnabled: boolean;
  disabledReason: string | null;
  disabledAt: Date | null;
  oldSecretUntil: Date | null;
  failuresInRow: number;
  failingSince: Date | null;
  lastSuccessAt: Date | null;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

/** What was left out stays as it is. */
export type EndpointChange = Partial<Pick<Endpoint, 'url' | 'eventTypes' | 'description' | 'isEnabled'>>;

export interface Attempt {
  at: string;
  status_code: number | null;
  /** A sentence; null when it was delivered. */
  error: string | null;
  duration_ms: number;
  /** The beginning of the receiver's response. */
  response_body: string | null;
}

export interface Delivery extends DeliveryKey {
  webhookId: string;
  eventXid: string;
  eventId: number;
  era: number;
  eventType: string;
  subject: string | null;
  status: DeliveryStatus;
  attemptCount: number;
  lastAttemptAt: Date | null;
  lastStatusCode: number | null;
  lastError: string | null;
  lastDurationMs: number | null;
  nextAttemptAt: Date | null;
  createdAt: Date;
  finishedAt: Date | null;
}

/** Where an endpoint stands in the event log. */
export interface Cursor extends EndpointKey {
  /** Null: no program of this version has moved it. */
  position: LogPosition | null;
  /** Changes with every move; as text, because it is compared to the microsecond. */
  movedAt: string;
  /** Where programs of the version before have moved it: everything up to here has its delivery. */
  xid: string;
  eventId: number;
  /** What was visible in this snapshot had happened before the endpoint was made by an older program. */
  since: string;
  eventTypes: string[] | null;
}

export interface NewDelivery {
  deliveryId: string;
  xid: string;
  eventId: number;
  type: string;
  lane: string;
}

/** A lane that is this sender's until the lease ends. */
export interface Lease extends EndpointKey {
  lane: string;
  token: string;
}

/** The first delivery of a leased lane, with all that is needed to send it. */
export interface DueDelivery extends Lease {
  deliveryId: string;
  tries: number;
  maxTries: number;
  url: string;
  secret: string;
  /** Null unless it still counts. */
  oldSecret: string | null;
  /** Null when it was removed from the log by hand. */
  event: EventRow | null;
}

/** The result of one try. */
export type Outcome =
  | { type: 'delivered'; attempt: Attempt }
  /** `notBeforeMs`: what the receiver asked for; the next try cannot be brought forward beyond it. */
  | { type: 'retry'; attempt: Attempt; delayMs: number; notBeforeMs: number | null }
  | { type: 'exhausted'; attempt: Attempt }
  /** The receiver says that it is gone for good: nothing more is sent, the delivery waits. */
  | { type: 'gone'; attempt: Attempt };

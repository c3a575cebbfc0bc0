/** A reader's position: everything up to and including it has been read. xid is a 64-bit number as text. */
export interface EventPosition {
  xid: string;
  eventId: number;
}

export interface EventRow extends EventPosition {
  tenantId: string;
  type: string;
  subject: string;
  /** Whose job it is about; members read only their own. */
  userId: string | null;
  correlationId: string | null;
  data: Record<string, unknown>;
  occurredAt: Date;
}

export interface NewEvent {
  tenantId: string;
  type: string;
  subject: string;
  userId?: string | null | undefined;
  correlationId?: string | null | undefined;
  data: Record<string, unknown>;
}

export interface EventFilter {
  /** Types, or prefixes that end in `.*`; all types when it is empty. */
  types?: readonly string[] | undefined;
  subject?: string | undefined;
  /** Limits to events about one member's own jobs. */
  ownerId?: string | undefined;
}

/** CloudEvents 1.0 as JSON, with two extensions. */
export interface EventEnvelope {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  datacontenttype: 'application/json';
  data: Record<string, unknown>;
  tenantid: string;
  correlationid?: string;
}

export function envelopeOf(event: EventRow): EventEnvelope {
  return {
    specversion: '1.0',
    id: positionText(event),
    source: `/tenants/${encodeURIComponent(event.tenantId)}`,
    type: event.type,
    subject: event.subject,
    time: event.occurredAt.toISOString(),
    datacontenttype: 'application/json',
    data: event.data,
    tenantid: event.tenantId,
    ...(event.correlationId === null ? {} : { correlationid: event.correlationId }),
  };
}

/** An event's id is its position in the log, so a client can continue from any event that it has seen. */
export function positionText({ xid, eventId }: EventPosition): string {
  return `${xid}-${eventId}`;
}

const maxXid = 2n ** 64n - 1n;

/** Returns null for a text that is not an event id. */
export function parsePosition(text: string): EventPosition | null {
  const [, xid, eventId] = /^(\d{1,20})-(\d{1,16})$/.exec(text) ?? [];
  if (xid === undefined || eventId === undefined) return null;
  const position = { xid: String(BigInt(xid)), eventId: Number(eventId) };
  return BigInt(xid) <= maxXid && Number.isSafeInteger(position.eventId) ? position : null;
}

const typePattern = /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*(\.\*)?$/;

export function isTypePattern(text: string): boolean {
  return text.length <= 100 && typePattern.test(text);
}

/** Returns the prefix of `job.*`; null for a whole type. */
export function typePrefix(pattern: string): string | null {
  return pattern.endsWith('.*') ? pattern.slice(0, -1) : null;
}

/** The same filter as in the store's SQL, for rows that were read without it. */
export function matchesFilter(event: EventRow, { types, subject, ownerId }: EventFilter): boolean {
  return (
    (types === undefined || types.some((pattern) => matchesType(event.type, pattern))) &&
    (subject === undefined || event.subject === subject) &&
    (ownerId === undefined || event.userId === ownerId)
  );
}

export function matchesType(type: string, pattern: string): boolean {
  const prefix = typePrefix(pattern);
  return prefix === null ? type === pattern : type.startsWith(prefix);
}

/** Where a reader stands: everything up to and including this has been read. xid is a 64-bit number as text. */
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
  /** Types, or beginnings of types that end in `.*`; none: all types. */
  types?: readonly string[] | undefined;
  subject?: string | undefined;
  /** Narrows to what is about one member's own jobs. */
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

/** An event's id is its place in the log, so that any event a client has seen is a place to go on from. */
export function positionText({ xid, eventId }: EventPosition): string {
  return `${xid}-${eventId}`;
}

const maxXid = 2n ** 64n - 1n;

/** Null for what no event can have as id. */
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

/** `job.*` as the beginning that it stands for; null for a whole type. */
export function typePrefix(pattern: string): string | null {
  return pattern.endsWith('.*') ? pattern.slice(0, -1) : null;
}

/** The same question that the store asks in SQL, for rows that were read without a filter. */
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

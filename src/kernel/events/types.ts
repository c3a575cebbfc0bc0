/** What names an event. */
export interface EventKey {
  /** Which life of the log it belongs to; see README.md. */
  era: number;
  /** The transaction that wrote it: a 64-bit number as text. */
  xid: string;
  eventId: number;
}

export interface EventRow extends EventKey {
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
    id: eventIdText(event),
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

/** Unique and stable. Events of older versions keep the id that they were sent with. */
export function eventIdText({ era, xid, eventId }: EventKey): string {
  return `${era === oldestEra ? xid : era}-${eventId}`;
}

const maxXid = 2n ** 64n - 1n;

/** The two numbers of an event's id; null for any other text. The first is an era or, in older ids, a transaction. */
export function parseEventId(text: string): { first: string; eventId: number } | null {
  const [, first, id] = /^(\d{1,20})-(\d{1,16})$/.exec(text) ?? [];
  if (first === undefined || id === undefined || BigInt(first) > maxXid) return null;
  const eventId = Number(id);
  return Number.isSafeInteger(eventId) ? { first: String(BigInt(first)), eventId } : null;
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

/** What a reader has seen of an era: everything that was visible in the snapshot. */
export interface Mark {
  /** A `pg_snapshot` as text. */
  snapshot: string;
  /**
   * No transaction had begun with this id or a higher one. The snapshot does not say that: it ends behind the last
   * transaction that had completed, and later ones may have been running and may have drawn ids.
   */
  next: string;
  /** Whatever was visible has this id or a lower one. Transactions that began later draw higher ids. */
  high: number;
  /** Whatever was not visible has a higher id. */
  low: number;
  /** When the event with the id `high` happened, in microseconds: after a recovery the id may be another event's. */
  witness: number | null;
  /**
   * In place of a snapshot, when all that is known is the last event: transactions before `horizon` had ended when it
   * was written. What later ones wrote before it may not have been seen, except those of its own transaction.
   */
  lastOnly?: { horizon: string; xid: string };
}

/**
 * A reader's place in the event log. Without `until` everything in `seen` has been read, and nothing else. With `until`
 * the reader is on its way from one snapshot to the other and has come to the id `at`. An era that has ended needs no
 * second snapshot: nothing is added to it.
 */
export interface LogPosition {
  era: number;
  seen: Mark;
  until: Mark | null;
  at: number;
  /** Only in the era of older versions, whose order is (xid, event_id): the transaction of the last event. */
  xid?: string;
}

/** Older versions kept their order by transaction. */
export const oldestEra = 0;

/** Nothing of the era has been read. */
export function startOfEra({ era, firstId }: { era: number; firstId: number }): LogPosition {
  const seen = { snapshot: '1:1:', next: '1', high: firstId - 1, low: firstId - 1, witness: null };
  return { era, seen, until: null, at: 0, ...(era === oldestEra ? { xid: '0' } : {}) };
}

/** The transactions that were open when the snapshot was taken. */
export function openTransactions({ snapshot, next }: Pick<Mark, 'snapshot' | 'next'>): string[] {
  const [, xmax = '0', listed = ''] = snapshot.split(':');
  const open = listed === '' ? [] : listed.split(',');
  for (let xid = BigInt(xmax); xid < BigInt(next); xid += 1n) open.push(String(xid));
  return open;
}

/** As `pg_visible_in_snapshot`. */
export function isVisibleIn(xid: string, snapshot: string): boolean {
  const [xmin = '0', xmax = '0', open = ''] = snapshot.split(':');
  if (BigInt(xid) < BigInt(xmin)) return true;
  return BigInt(xid) < BigInt(xmax) && !open.split(',').includes(xid);
}

import { isSluiceError } from '../../lib/errors.ts';
import { eventErrors } from './errors.ts';
import type { LogPosition, Mark } from './types.ts';

type Packed = (string | number | null)[];

/** A flat list, because it travels with every event of a stream. */
export function packPosition({ era, at, xid, seen, until }: LogPosition): Packed {
  return [era, at, xid ?? null, ...packMark(seen), ...(until ? packMark(until) : [])];
}

/** Only for what was packed by us: cursors are signed. */
export function unpackPosition(packed: Packed): LogPosition {
  const [era, at, xid, ...marks] = packed as [number, number, string | null, ...Packed];
  return {
    era,
    at,
    seen: unpackMark(marks),
    until: marks.length > markLength ? unpackMark(marks.slice(markLength)) : null,
    ...(xid === null ? {} : { xid }),
  };
}

const markLength = 7;

function packMark({ snapshot, next, high, low, witness, lastOnly }: Mark): Packed {
  return [snapshot, next, high, low, witness, lastOnly?.horizon ?? null, lastOnly?.xid ?? null];
}

function unpackMark(packed: Packed): Mark {
  const [snapshot, next, high, low, witness, horizon, xid] = packed as [
    string,
    string,
    number,
    number,
    number | null,
    string | null,
    string | null,
  ];
  const lastOnly = horizon === null || xid === null ? {} : { lastOnly: { horizon, xid } };
  return { snapshot, next, high, low, witness, ...lastOnly };
}

/** A position that was refused: the reader has to choose another one. */
export function isGonePosition(error: unknown): boolean {
  return isSluiceError(error) && ['event_position_lost', 'event_position_expired'].includes(error.code);
}

export function lostPosition(reason: string): Error {
  return eventErrors.raise.event_position_lost(reason);
}

export function expiredPosition(): Error {
  return eventErrors.raise.event_position_expired(
    'Events after this position have been removed from the log because their retention has ended',
  );
}

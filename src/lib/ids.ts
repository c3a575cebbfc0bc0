import { randomBytes } from 'node:crypto';

const maxCount = 0xfff;
let last = { ms: 0, count: 0 };

/**
 * UUID version 7: 48 bits of milliseconds, 12 bits that count up within a millisecond, then random bits. Ids that one
 * process makes one after the other sort in that order, which keeps lists in the order of creation and inserts at the
 * right-hand edge of a b-tree.
 */
export function newId(nowMs: number = Date.now()): string {
  const count = nowMs === last.ms ? last.count + 1 : randomBytes(1).readUInt8();
  last = { ms: nowMs, count };
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  // More ids in one millisecond than can be counted are in no order among each other.
  bytes.writeUInt16BE(0x7000 | Math.min(count, maxCount), 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether PostgreSQL takes the text for an id. */
export function isId(text: string): boolean {
  return uuid.test(text);
}

/** The smallest id of a moment: every id that `newId` made since then is at least this. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** 256 random bits as URL-safe text, for secrets that are shown once. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

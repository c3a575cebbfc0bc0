import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares hashes, which have equal lengths: neither the time nor the length reveals anything. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

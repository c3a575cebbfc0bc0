import { randomBytes } from 'node:crypto';
import { newId } from '../../lib/ids.ts';
import { fileErrors } from './errors.ts';

const shape = /^[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The last bytes of a version 7 UUID are random; its first ones are the time and would fill one directory. */
export function newStorageKey(): string {
  const id = newId();
  return `${id.slice(-4, -2)}/${id.slice(-2)}/${id}`;
}

/** A random first part of a key: a limited search starts there, so that it reaches all of them in time. */
export function randomStart(): string {
  return randomBytes(1).toString('hex');
}

export function isStorageKey(text: string): boolean {
  return shape.test(text);
}

/** Checks a key before it becomes a path or a name: nothing from outside can leave the file storage. */
export function assertStorageKey(storageKey: string): void {
  if (isStorageKey(storageKey)) return;
  throw fileErrors.raise.storage_key_malformed(
    `${JSON.stringify(storageKey.slice(0, 100))} is not a storage key; keys look like ab/cd/<uuid>`,
  );
}

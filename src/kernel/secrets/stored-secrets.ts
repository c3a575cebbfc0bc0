import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { secretErrors } from './errors.ts';

/**
 * Encryption of tenants' secrets (provider keys, webhook secrets): AES-256-GCM, bound to the place where the secret is
 * stored. Each text names its key, so that a new key can be put first while the old ones still decrypt.
 */
export interface SecretKeys {
  /** The first one encrypts. */
  readonly keys: readonly SecretKey[];
}

interface SecretKey {
  id: string;
  bytes: Buffer;
}

const version = 'v1';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** Comma-separated keys of 32 bytes each, as hex or base64. */
export function parseSecretKeys(text: string): SecretKeys {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0)
    throw secretErrors.raise.secret_key_malformed('There is no key in the list of keys');
  return { keys: parts.map((part, index) => toKey(part, index + 1)) };
}

/** `place` says what the secret belongs to (tenant and row); the text cannot be used anywhere else. */
export function encryptSecret(
  keys: SecretKeys,
  { secret, place }: { secret: string; place: string },
): string {
  const key = keys.keys[0];
  if (!key) throw secretErrors.raise.secret_key_malformed('There is no key to encrypt with');
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(place));
  const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${version}.${key.id}.${sealed.toString('base64url')}`;
}

export function decryptSecret(
  keys: SecretKeys,
  { stored, place }: { stored: string; place: string },
): string {
  const [foundVersion, keyId, sealedText] = stored.split('.');
  const sealed = Buffer.from(sealedText ?? '', 'base64url');
  if (foundVersion !== version || sealed.length < nonceBytes + tagBytes) {
    throw secretErrors.raise.secret_undecryptable(
      `The stored secret of ${place} is not in the format ${version}`,
    );
  }
  const key = keys.keys.find((candidate) => candidate.id === keyId);
  if (!key) {
    const known = keys.keys.map((candidate) => candidate.id).join(', ');
    throw secretErrors.raise.secret_undecryptable(
      `The stored secret of ${place} was encrypted with key ${keyId}; this process has ${known}`,
    );
  }
  return open({ key, sealed, place });
}

/** True when the text was not encrypted with the first key. */
export function needsRotation(keys: SecretKeys, stored: string): boolean {
  return !stored.startsWith(currentPrefix(keys));
}

/** The prefix of every text that the first key has encrypted. It has no wildcard of SQL's `like`. */
export function currentPrefix(keys: SecretKeys): string {
  return `${version}.${keys.keys[0]?.id}.`;
}

function open({ key, sealed, place }: { key: SecretKey; sealed: Buffer; place: string }): string {
  const nonce = sealed.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    const opened = decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes));
    return Buffer.concat([opened, decipher.final()]).toString('utf8');
  } catch (error) {
    throw secretErrors.raise.secret_undecryptable(
      `The stored secret of ${place} was changed, or belongs to another place`,
      { cause: error },
    );
  }
}

function toKey(text: string, position: number): SecretKey {
  const isHex = /^[0-9a-f]{64}$/i.test(text);
  const isBase64 = /^[A-Za-z0-9+/_-]{43}=?$/.test(text);
  if (!isHex && !isBase64) {
    throw secretErrors.raise.secret_key_malformed(
      `Key ${position} of the list is neither 64 hex digits nor the base64 of 32 bytes`,
    );
  }
  const bytes = Buffer.from(text, isHex ? 'hex' : 'base64');
  if (bytes.length !== keyBytes) {
    throw secretErrors.raise.secret_key_malformed(
      `Key ${position} has ${bytes.length} bytes; it needs ${keyBytes}`,
    );
  }
  // The id tells keys apart and says nothing about them: a hash with a purpose of its own, cut short.
  const id = createHash('sha256').update('sluice key id').update(bytes).digest('hex').slice(0, 8);
  return { id, bytes };
}

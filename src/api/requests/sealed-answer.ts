import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface Seal {
  close(text: string): string;
  /** Null when it was sealed with another secret, or changed. */
  open(sealed: string): string | null;
}

const ivBytes = 12;
const tagBytes = 16;

/**
 * A kept answer that shows a secret once (a new API key) is encrypted with a key that takes both the server's secret
 * and the caller's Idempotency-Key, so that the table alone gives nothing away.
 */
export function createSeal({ secret, idempotencyKey }: { secret: string; idempotencyKey: string }): Seal {
  const key = Buffer.from(hkdfSync('sha256', secret, idempotencyKey, 'sluice kept answer', 32));
  return {
    close(text) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < ivBytes + tagBytes) return null;
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes));
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      try {
        const text = decipher.update(bytes.subarray(ivBytes + tagBytes));
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        // The only failure here is the authentication tag, which is what null says.
        return null;
      }
    },
  };
}

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface Seal {
  close(text: string): string;
  /** Returns null when it was sealed with another secret, or has been changed. */
  open(sealed: string): string | null;
}

const ivBytes = 12;
const tagBytes = 16;

/**
 * A stored response that shows a secret once (a new API key) is encrypted with a key made of both the server's secret
 * and the caller's Idempotency-Key, so that the table alone reveals nothing.
 */
export function createSeal({ secret, idempotencyKey }: { secret: string; idempotencyKey: string }): Seal {
  return sealWith(Buffer.from(hkdfSync('sha256', secret, idempotencyKey, 'sluice kept answer', 32)));
}

/** For what a browser keeps for the server: it can neither read nor change it. */
export function createCookieSeal(secret: string): Seal {
  return sealWith(Buffer.from(hkdfSync('sha256', secret, '', 'sluice sealed cookie', 32)));
}

function sealWith(key: Buffer): Seal {
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
        // The only failure here is the authentication tag, and null says so.
        return null;
      }
    },
  };
}

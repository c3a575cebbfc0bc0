import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;

/** As Standard Webhooks writes them: https://www.standardwebhooks.com */
export function newWebhookSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64');
}

export interface SignedMessage {
  id: string;
  timestampSeconds: number;
  body: string;
}

/** One signature per secret, the newest first: a receiver accepts the message when any of them fits. */
export function signatureHeader(message: SignedMessage, secrets: readonly string[]): string {
  return secrets.map((secret) => signature(message, secret)).join(' ');
}

function signature({ id, timestampSeconds, body }: SignedMessage, secret: string): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`;
}

import type { Readable } from 'node:stream';
import { messageOf } from '../../../lib/errors.ts';
import type { GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../../lib/fetch/retry-after.ts';
import { storable } from '../../../lib/well-formed.ts';
import { envelopeOf } from '../../events/types.ts';
import { decryptSecret, type SecretKeys } from '../../secrets/stored-secrets.ts';
import { signatureHeader } from '../endpoints/signature.ts';
import { placeOf } from '../service.ts';
import { type Attempt, type DueDelivery, maxResponseBytes, type Outcome } from '../types.ts';
import { maxRetryAfterMs, retryDelayMs } from './retry-schedule.ts';

export interface SenderDeps {
  fetch: GuardedFetch;
  keys: SecretKeys;
  timeoutMs: number;
  retryBaseMs: number;
  nowMs(): number;
}

/** What the receiver said; status null: it said nothing. */
interface Reply {
  status: number | null;
  error: string | null;
  body: string | null;
  retryAfterMs?: number | undefined;
}

/** One try. Rejects only with the reason of the signal: everything else is an outcome. */
export async function sendDelivery(
  deps: SenderDeps,
  due: DueDelivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const startedMs = deps.nowMs();
  const reply = await post(deps, due, signal);
  const attempt: Attempt = {
    at: new Date(startedMs).toISOString(),
    status_code: reply.status,
    error: reply.error,
    duration_ms: Math.max(0, deps.nowMs() - startedMs),
    response_body: reply.body,
  };
  return outcomeOf(deps, due, { reply, attempt });
}

function outcomeOf(
  { retryBaseMs: baseMs }: SenderDeps,
  { tries, maxTries }: DueDelivery,
  { reply, attempt }: { reply: Reply; attempt: Attempt },
): Outcome {
  if (reply.error === null) return { type: 'delivered', attempt };
  if (reply.status === 410) return { type: 'gone', attempt };
  if (tries + 1 >= maxTries) return { type: 'exhausted', attempt };
  const { retryAfterMs } = reply;
  const delayMs = retryDelayMs({ tries: tries + 1, baseMs, retryAfterMs });
  const notBeforeMs = retryAfterMs === undefined ? null : Math.min(retryAfterMs, maxRetryAfterMs);
  return { type: 'retry', attempt, delayMs, notBeforeMs };
}

async function post(deps: SenderDeps, due: DueDelivery, signal: AbortSignal): Promise<Reply> {
  if (due.event === null) return failed('The event is no longer in the log, so there is nothing to send');
  const body = JSON.stringify(envelopeOf(due.event));
  try {
    const answer = await deps.fetch.stream(due.url, {
      method: 'POST',
      headers: headersOf(deps, due, body),
      body,
      timeoutMs: deps.timeoutMs,
      // Only the beginning is read, so there is nothing to guard against.
      maxBytes: Number.MAX_SAFE_INTEGER,
      maxRedirects: 0,
      // The status decides: a body that cannot be decoded must not make a message count as not received.
      decode: false,
      signal,
    });
    const { status, headers } = answer;
    const mayAskForTime = status === 429 || status === 503;
    return {
      status,
      error: problemOf(status),
      body: await beginningOf(answer.body),
      retryAfterMs: mayAskForTime ? parseRetryAfter(headers['retry-after'], headers.date) : undefined,
    };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return failed(messageOf(error));
  }
}

function headersOf({ keys, nowMs }: SenderDeps, due: DueDelivery, body: string): Record<string, string> {
  const place = placeOf(due);
  const stored = [due.secret, ...(due.oldSecret === null ? [] : [due.oldSecret])];
  const secrets = stored.map((text) => decryptSecret(keys, { stored: text, place }));
  const timestampSeconds = Math.floor(nowMs() / 1000);
  return {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'webhook-id': due.deliveryId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatureHeader({ id: due.deliveryId, timestampSeconds, body }, secrets),
  };
}

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status === 410) return 'The receiver returned 410: it wants no more webhooks';
  if (status >= 300 && status < 400) {
    return `The receiver returned ${status}; redirects are not followed. Set the url to where it leads`;
  }
  return `The receiver returned ${status}; only 200 to 299 count as received`;
}

function failed(error: string): Reply {
  return { status: null, error: storable(error), body: null };
}

/** The beginning of the body, for people who look for the reason. The status has decided already. */
async function beginningOf(body: Readable): Promise<string | null> {
  const chunks: Buffer[] = [];
  let seenBytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      seenBytes += (chunk as Buffer).length;
      if (seenBytes >= maxResponseBytes) break;
    }
  } catch {
    // What has come is kept.
  } finally {
    body.destroy();
  }
  if (seenBytes === 0) return null;
  return storable(Buffer.concat(chunks).subarray(0, maxResponseBytes).toString('utf8'));
}

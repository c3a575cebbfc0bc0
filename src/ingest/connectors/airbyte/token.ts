import { isSluiceError } from '../../../lib/errors.ts';
import type { FetchAnswer, FetchOptions } from '../../../lib/fetch/guarded-fetch.ts';
import { SecretScrubber } from '../../../lib/secret-scrubber.ts';
import { unlessAborted } from '../../../lib/timing/abort.ts';
import type { Clock } from '../../../lib/timing/clock.ts';
import { type GrantedToken, readToken } from './answers.ts';
import { failureOf, refusalOf, unreadable, withoutToken } from './problems.ts';
import type { AirbyteAnswer, AirbyteCredentials } from './types.ts';

export type Fetch = (url: string, options: FetchOptions) => Promise<FetchAnswer<Buffer>>;

export interface AccessTokensOptions {
  credentials: AirbyteCredentials;
  fetch: Fetch;
  /** Where a client's id and secret are exchanged for a token. */
  url: string;
  timeoutMs: number;
  clock: Clock;
}

const maxBytes = 64 * 1024;
/** A token that is about to expire would do so on its way. */
const marginMs = 60_000;
/** Airbyte's tokens last 15 minutes; for much shorter ones the margin must leave some time. */
const maxMarginShare = 0.2;
const maxLifetimeMs = 24 * 3_600_000;

/** The token for the next request: the configured one, or one obtained for the client's id and secret. */
export class AccessTokens {
  readonly #options: AccessTokensOptions;
  #current: { token: string; expiresAtMs: number } | null = null;
  /** Callers that need a token meanwhile wait for the same one. */
  #refresh: Promise<AirbyteAnswer<string>> | null = null;
  #previous = '';
  #scrubber: SecretScrubber;

  constructor(options: AccessTokensOptions) {
    this.#options = options;
    this.#scrubber = new SecretScrubber(secretsOf(options.credentials));
  }

  /** Whether another token can be obtained when one is refused. */
  get canRefresh(): boolean {
    return this.#options.credentials.type === 'client';
  }

  /** How a request says it. */
  get scheme(): 'Bearer' | 'Basic' {
    return this.#options.credentials.type === 'basic' ? 'Basic' : 'Bearer';
  }

  async get(signal?: AbortSignal): Promise<AirbyteAnswer<string>> {
    const { credentials, clock } = this.#options;
    if (credentials.type === 'token') return { type: 'ok', value: credentials.token };
    if (credentials.type === 'basic') return { type: 'ok', value: encodedPair(credentials) };
    if (this.#current !== null && clock.nowMs() < this.#current.expiresAtMs) {
      return { type: 'ok', value: this.#current.token };
    }
    this.#refresh ??= this.#exchange(credentials).finally(() => {
      this.#refresh = null;
    });
    return signal === undefined ? this.#refresh : unlessAborted(this.#refresh, signal);
  }

  /** Forgets a token that Airbyte refused. A newer one stays. */
  discard(token: string): void {
    if (this.#current?.token === token) this.#current = null;
  }

  /** Removes every secret that was sent recently from a text. */
  readonly scrub = (text: string): string => this.#scrubber.scrub(text);

  /** Ignores the signal of the first caller: the others wait for the same token. */
  async #exchange(credentials: AirbyteCredentials & { type: 'client' }): Promise<AirbyteAnswer<string>> {
    const { fetch, url, timeoutMs, clock } = this.#options;
    const askedAtMs = clock.nowMs();
    try {
      const answer = await fetch(url, {
        ...exchangeRequest(credentials),
        timeoutMs,
        maxBytes,
        maxRedirects: 0,
      });
      if (answer.status < 200 || answer.status > 299) return withoutToken(refusalOf(answer, this.scrub));
      const reading = await readToken(answer.body);
      if (!reading.ok) return withoutToken(unreadable(answer.status, reading.reason));
      return { type: 'ok', value: this.#keep(reading.value, askedAtMs) };
    } catch (error) {
      if (!isSluiceError(error)) throw error;
      return withoutToken(failureOf(error, this.scrub));
    }
  }

  #keep({ token, lifetimeMs }: GrantedToken, askedAtMs: number): string {
    const usableMs = lifetimeMs - Math.min(marginMs, lifetimeMs * maxMarginShare);
    this.#current = { token, expiresAtMs: askedAtMs + Math.min(usableMs, maxLifetimeMs) };
    // A new one each time: a scrubber for all tokens of a long-lived process would grow for ever.
    this.#scrubber = new SecretScrubber([...secretsOf(this.#options.credentials), token, this.#previous]);
    this.#previous = token;
    return token;
  }
}

function exchangeRequest({ clientId, clientSecret }: AirbyteCredentials & { type: 'client' }) {
  return {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    // Airbyte reads it with a hyphen; its API document requires it with an underscore.
    body: JSON.stringify({
      client_id: clientId,
      client_secret: clientSecret,
      'grant-type': 'client_credentials',
      grant_type: 'client_credentials',
    }),
  } as const;
}

function secretsOf(credentials: AirbyteCredentials): string[] {
  if (credentials.type === 'token') return [credentials.token];
  if (credentials.type === 'basic') return [credentials.password, encodedPair(credentials)];
  return [credentials.clientSecret];
}

function encodedPair({ username, password }: AirbyteCredentials & { type: 'basic' }): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

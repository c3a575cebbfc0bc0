import type { FetchOptions, GuardedFetch, Hop } from '../../lib/fetch/guarded-fetch.ts';
import { SecretScrubber } from '../../lib/secret-scrubber.ts';
import { secretErrors } from './errors.ts';
import { isAmong } from './hosts.ts';
import type { SecretLender, SecretUse, SecretUser } from './types.ts';

/** The value of a secret in the hands of work that may use it, and the hosts that it may be sent to. */
export class LentSecret {
  readonly value: string;
  readonly #hosts: readonly string[];
  readonly #scrubber: SecretScrubber;

  constructor({ value, hosts }: { value: string; hosts: readonly string[] }) {
    this.value = value;
    this.#hosts = hosts;
    this.#scrubber = new SecretScrubber(sentForms(value), { shortOnes: 'as words' });
  }

  /** For what is not sent with `fetch`. */
  assertMayGoTo(address: string): void {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || !isAmong(this.#hosts, url))
      throw refusedHost(url?.host ?? 'an address without a host');
  }

  /** Throws for a request that holds the secret, in any spelling, and goes elsewhere. */
  assertHop({ url, headers, body }: Hop): void {
    if (isAmong(this.#hosts, url)) return;
    const parts = [url.href, ...Object.values(headers), body?.toString() ?? ''];
    if (parts.some((part) => this.#scrubber.isIn(part))) throw refusedHost(url.host);
  }

  scrub(text: string): string {
    return this.#scrubber.scrub(text);
  }

  /** The same error, without the secret in its messages and stacks. */
  scrubError(error: unknown): unknown {
    let each = error;
    for (let depth = 0; depth < maxCauses && each instanceof Error; depth += 1) {
      each.message = this.scrub(each.message);
      if (each.stack !== undefined) each.stack = this.scrub(each.stack);
      each = each.cause;
    }
    return error;
  }
}

const maxCauses = 10;

/** The secrets that one piece of work has been lent, and what keeps them where they belong. */
export class SecretPurse {
  readonly #lender: Pick<SecretLender, 'lend'>;
  readonly #user: SecretUser;
  readonly #lent = new Map<string, LentSecret>();
  #scrubber: SecretScrubber | null = null;

  constructor(lender: Pick<SecretLender, 'lend'>, user: SecretUser) {
    this.#lender = lender;
    this.#user = user;
  }

  /** Checked again each time: the secret may have changed since. */
  async take(name: string, use: SecretUse = this.#user.use): Promise<string> {
    const lent = await this.#lender.lend({ ...this.#user, use }, name);
    this.#lent.set(name, lent);
    this.#scrubber ??= new SecretScrubber([], { shortOnes: 'as words' });
    this.#scrubber.register(sentForms(lent.value));
    return lent.value;
  }

  /** The same fetch, which sends no lent secret to a host that it is not for, not even after a redirect. */
  guard(fetch: GuardedFetch): GuardedFetch {
    const watched = (options: FetchOptions = {}): FetchOptions => ({
      ...options,
      beforeHop: (hop) => {
        options.beforeHop?.(hop);
        for (const lent of this.#lent.values()) lent.assertHop(hop);
      },
    });
    const whole = (url: string, options?: FetchOptions) => fetch(url, watched(options));
    return Object.assign(whole, {
      stream: (url: string, options?: FetchOptions) => fetch.stream(url, watched(options)),
      close: () => fetch.close(),
    });
  }

  scrub(text: string): string {
    return this.#scrubber?.scrub(text) ?? text;
  }

  /** A JSON value without the secrets; the same value if there are none in it. */
  scrubValue(value: unknown): unknown {
    return this.#scrubber?.scrubValue(value) ?? value;
  }
}

/** A secret that was pasted or read from a file often ends in a line break, which no header can hold. */
function sentForms(value: string): string[] {
  return [value, value.trim()];
}

function refusedHost(host: string): Error {
  return secretErrors.raise.secret_host_not_allowed(`The secret may not be sent to ${host}`);
}

import { lookup as lookupName } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { fetchErrors } from './errors.ts';
import { type AddressRule, assertLiteral } from './target.ts';

export interface ResolvedAddress {
  address: string;
  family: number;
}

export type Resolver = (hostname: string) => Promise<ResolvedAddress[]>;

export const systemResolver: Resolver = (hostname) => lookupName(hostname, { all: true, verbatim: true });

/**
 * Opens connections only to addresses that were checked. The name is looked up once per connection and the socket
 * gets the addresses that passed, so a second lookup cannot give another address (DNS rebinding).
 */
export function guardedConnector(options: {
  refuse: AddressRule;
  resolve: Resolver;
  connectTimeoutMs: number;
  /** Aborted at the end: a look-up that is still under way must not hold up the closing of its connection. */
  closing: AbortSignal;
}): buildConnector.connector {
  const { refuse, connectTimeoutMs } = options;
  const resolve = untilClosing(options.resolve, options.closing);
  const connect = buildConnector({
    lookup: guardedLookup({ refuse, resolve }),
    timeout: connectTimeoutMs,
    autoSelectFamily: true,
    allowH2: false,
  });
  return (target, callback) => {
    try {
      // Each hop was checked when its URL was read; this also protects callers that forget to.
      assertLiteral(target.hostname, refuse);
    } catch (error) {
      callback(error as Error, null);
      return;
    }
    connect(target, callback);
  };
}

function guardedLookup(rules: { refuse: AddressRule; resolve: Resolver }): LookupFunction {
  return (hostname, options, callback) => {
    findAddresses(hostname, rules).then(
      (addresses) => {
        if (options.all) return callback(null, addresses);
        const [first] = addresses;
        callback(null, first?.address ?? '', first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

/**
 * One refused address refuses the host: otherwise a host with a public and a private one could get through by chance.
 */
export async function findAddresses(
  hostname: string,
  { refuse, resolve }: { refuse: AddressRule; resolve: Resolver },
): Promise<ResolvedAddress[]> {
  const addresses = await resolve(hostname);
  if (addresses.length === 0) {
    throw fetchErrors.raise.host_not_found(`The host ${hostname} has no address`);
  }
  for (const { address } of addresses) {
    const reason = refuse(address);
    // Without the address: it could reveal an internal network.
    if (reason !== null) {
      throw fetchErrors.raise.address_blocked(
        `The host ${hostname} leads to an address that is ${reason}; such hosts are refused`,
      );
    }
  }
  return addresses;
}

function untilClosing(resolve: Resolver, closing: AbortSignal): Resolver {
  return (hostname) =>
    new Promise((done, fail) => {
      const stop = () =>
        fail(fetchErrors.raise.fetch_failed(`The look-up of ${hostname} was stopped by the shutdown`));
      if (closing.aborted) return stop();
      closing.addEventListener('abort', stop, { once: true });
      resolve(hostname)
        .finally(() => closing.removeEventListener('abort', stop))
        .then(done, fail);
    });
}

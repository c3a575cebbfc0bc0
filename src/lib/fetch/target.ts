import { isIP } from 'node:net';
import { fetchErrors } from './errors.ts';

/** Why an address may not be called, or null. */
export type AddressRule = (address: string) => string | null;

const maxUrlLength = 8192;

/**
 * The URL of one hop, checked as far as it can be without a name lookup. The URL parser turns every spelling of an IP
 * address (127.1, 0x7f000001, full-width digits, a trailing dot) into the one that is checked here.
 */
export function parseTarget(text: string, { refuse, base }: { refuse: AddressRule; base?: URL }): URL {
  if (text.length > maxUrlLength) {
    throw fetchErrors.raise.url_invalid(
      `The URL has ${text.length} characters; at most ${maxUrlLength} are allowed`,
    );
  }
  const url = parseUrl(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw fetchErrors.raise.url_invalid(`The URL has the scheme ${url.protocol} Allowed: http: and https:`);
  }
  if (url.username !== '' || url.password !== '') {
    throw fetchErrors.raise.url_invalid(
      `The URL of ${url.host} has a user name or password in it. Pass credentials in a header`,
    );
  }
  assertPort(url);
  assertLiteral(url.hostname, refuse);
  return url;
}

/** A host that is an IP address is connected to without a lookup, so it has to be checked by itself. */
export function assertLiteral(hostname: string, refuse: AddressRule): void {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) === 0) return;
  const reason = refuse(address);
  if (reason !== null) {
    throw fetchErrors.raise.address_blocked(
      `The address ${address} is ${reason}; such addresses are refused`,
    );
  }
}

function parseUrl(text: string, base: URL | undefined): URL {
  try {
    return new URL(text, base);
  } catch (error) {
    // Not the text itself: it may hold a key.
    throw fetchErrors.raise.url_invalid(
      'The URL cannot be read. Allowed: an absolute http or https URL such as https://api.example.com/v1',
      { cause: error },
    );
  }
}

/** Services that an HTTP request could be smuggled into, or that have no business with HTTP. */
const refusedPorts = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513,
  514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 993, 995, 1433, 1521,
  1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5900, 6000, 6379, 6566, 6665, 6666,
  6667, 6668, 6669, 6679, 6697, 10080, 11211, 27017,
]);

function assertPort(url: URL): void {
  if (url.port !== '' && refusedPorts.has(Number(url.port))) {
    throw fetchErrors.raise.address_blocked(
      `Port ${url.port} of ${url.hostname} belongs to a service that does not speak HTTP; such ports are refused`,
    );
  }
}

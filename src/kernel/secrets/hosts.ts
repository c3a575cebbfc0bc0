const hostAndPort = /^(\[[0-9a-f:.]+\]|[^\s:/?#@\\*[\]]+)(?::(\d{1,5}))?$/i;
/** What the URL parser makes of a host name or an IP address. A comma would look like a list. */
const plainName = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/;
const defaultPorts: Record<string, string> = { 'https:': '443', 'http:': '80', 'ftp:': '21' };

/** `host` or `host:port` in one spelling: lower case, punycode, no final dot. Null: it is neither. */
export function normalizeHost(text: string): string | null {
  const [, host, port] = hostAndPort.exec(text) ?? [];
  if (host === undefined || !URL.canParse(`https://${host}`)) return null;
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return null;
  const name = nameOf(new URL(`https://${host}`));
  if (!plainName.test(name)) return null;
  return port === undefined ? name : `${name}:${Number(port)}`;
}

/** A host without a port allows all ports of that host. */
export function isAmong(hosts: readonly string[], url: URL): boolean {
  const name = nameOf(url);
  const port = url.port === '' ? (defaultPorts[url.protocol] ?? '') : url.port;
  return hosts.includes(name) || hosts.includes(`${name}:${port}`);
}

/** `example.com.` is the same host as `example.com`. */
function nameOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

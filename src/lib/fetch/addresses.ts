import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Why an address may not be called, or null when it is an ordinary public one. The allowed ranges are listed, not the
 * refused ones: an unknown range is refused.
 */
export function findRefusal(address: string): string | null {
  const parsed = parseAddress(address);
  if (parsed === null) return 'not an IP address';
  if (isMetadata(parsed)) return 'a cloud metadata service';
  const range = parsed.range();
  if (range !== 'unicast') return rangeNames[range] ?? `special (${range})`;
  if (parsed instanceof ipaddr.IPv6 && !isGlobalIpv6(parsed)) return 'outside the public IPv6 range';
  return null;
}

/** Refused also where private addresses are allowed: no installation means to lend out its machine's identity. */
export function findMetadataRefusal(address: string): string | null {
  const parsed = parseAddress(address);
  if (parsed === null) return 'not an IP address';
  return isMetadata(unwrap(parsed)) ? 'a cloud metadata service' : null;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Subnet = [Address, number];

const rangeNames: Record<string, string> = {
  unspecified: 'unspecified',
  broadcast: 'a broadcast address',
  multicast: 'multicast',
  linkLocal: 'link-local',
  loopback: 'loopback',
  carrierGradeNat: 'carrier-grade NAT',
  private: 'private',
  uniqueLocal: 'unique-local',
  ipv4Mapped: 'an IPv4-mapped address',
  rfc6052: 'a NAT64 address',
  '6to4': 'a 6to4 address',
  teredo: 'a Teredo address',
  benchmarking: 'for benchmarks',
  reserved: 'reserved',
};

const metadata: Subnet[] = [
  '169.254.169.254/32',
  '169.254.170.2/32',
  '100.100.100.200/32',
  // Public by its number, but inside Azure it is the host's own agent.
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
].map((text) => ipaddr.parseCIDR(text));

const globalIpv6: Subnet = ipaddr.parseCIDR('2000::/3');
/** The newer documentation range, RFC 9637. */
const documentation: Subnet = ipaddr.parseCIDR('3fff::/20');

function parseAddress(text: string): Address | null {
  // The library alone would take "1.2.3" for an address. A zone ("fe80::1%eth0") means link-local: no address here.
  return isIP(text) !== 0 && !text.includes('%') ? ipaddr.parse(text) : null;
}

function isMetadata(address: Address): boolean {
  return metadata.some((subnet) => isWithin(address, subnet));
}

/** IPv4-compatible (::a.b.c.d) and site-local addresses count as unicast to the library. */
function isGlobalIpv6(address: ipaddr.IPv6): boolean {
  return isWithin(address, globalIpv6) && !isWithin(address, documentation);
}

function isWithin(address: Address, subnet: Subnet): boolean {
  return address.kind() === subnet[0].kind() && address.match(subnet);
}

function unwrap(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

import { describe, expect, test } from 'vitest';
import { findMetadataRefusal, findRefusal } from './addresses.ts';

const refused: Record<string, string[]> = {
  unspecified: ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
  'link-local': ['169.254.0.1', 'fe80::1', 'febf::1'],
  'zoned link-local': ['fe80::1%eth0'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  broadcast: ['255.255.255.255'],
  reserved: ['240.0.0.1', '192.0.0.1', '192.88.99.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'unique-local': ['fc00::1', 'fd12:3456::1'],
  'site-local': ['fec0::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1'],
  'IPv4-compatible': ['::127.0.0.1', '::8.8.8.8'],
  'IPv4-translated': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1'],
  '6to4': ['2002:7f00:1::1', '2002:808:808::1'],
  Teredo: ['2001::1', '2001:0:7f00:1::1'],
  ORCHID: ['2001:10::1', '2001:20::1'],
  'discard-only': ['100::1'],
  unassigned: ['4000::1', '1::1', '5f00::1'],
  metadata: ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254'],
  'no address': ['', 'localhost', '1.2.3', '1.2.3.4.5', '01.02.03.04x'],
};

describe('an address', () => {
  for (const [kind, addresses] of Object.entries(refused)) {
    test(`that is ${kind} is refused`, () => {
      for (const address of addresses) expect(findRefusal(address), address).toEqual(expect.any(String));
    });
  }

  test('an address that is public is allowed', () => {
    const open = [
      '8.8.8.8',
      '1.1.1.1',
      '172.15.0.1',
      '172.32.0.1',
      '100.63.0.1',
      '2606:4700::1111',
      '2a00::1',
    ];
    for (const address of open) expect(findRefusal(address), address).toBeNull();
  });

  test('an address of a metadata service is refused even where private addresses are allowed', () => {
    for (const address of ['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254']) {
      expect(findMetadataRefusal(address), address).toEqual('a cloud metadata service');
    }
    for (const address of ['127.0.0.1', '10.0.0.1', '::1']) {
      expect(findMetadataRefusal(address), address).toBeNull();
    }
  });
});

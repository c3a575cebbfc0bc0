/** Addresses that no tenant's URL may lead to: this machine, private networks, metadata services. */
const inside = [
  '127.0.0.1',
  '127.0.0.2',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
];

type Octets = readonly [number, number, number, number];

const hex = (value: number, width = 0) => value.toString(16).padStart(width, '0');
const asNumber = ([a, b, c, d]: Octets) => a * 2 ** 24 + b * 2 ** 16 + c * 256 + d;
const asPair = ([a, b, c, d]: Octets) => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
const fullWidth = (text: string) =>
  text.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));

/** Spellings of a host that some parser reads as the same address. */
const spellings: Record<string, (octets: Octets) => string> = {
  dotted: (octets) => octets.join('.'),
  'with a dot at its end': (octets) => `${octets.join('.')}.`,
  'one number': (octets) => String(asNumber(octets)),
  'one hexadecimal number': (octets) => `0x${hex(asNumber(octets), 8)}`,
  'one octal number': (octets) => `0${asNumber(octets).toString(8)}`,
  'hexadecimal parts': (octets) => octets.map((part) => `0x${hex(part)}`).join('.'),
  'octal parts': (octets) => octets.map((part) => `0${part.toString(8)}`).join('.'),
  'two parts': ([a, b, c, d]) => `${a}.${b * 2 ** 16 + c * 256 + d}`,
  'three parts': ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  'full-width digits': (octets) => fullWidth(octets.join('.')),
  'ideographic dots': (octets) => octets.join('。'),
  'percent-encoded': (octets) => octets.join('.').replaceAll(/\d/g, (digit) => `%3${digit}`),
  'IPv4-mapped': (octets) => `[::ffff:${octets.join('.')}]`,
  'IPv4-mapped in hexadecimal': (octets) => `[0:0:0:0:0:ffff:${asPair(octets)}]`,
  'IPv4-compatible': (octets) => `[::${octets.join('.')}]`,
  NAT64: (octets) => `[64:ff9b::${asPair(octets)}]`,
  '6to4': (octets) => `[2002:${asPair(octets)}::1]`,
  'behind a user name': (octets) => `example.com@${octets.join('.')}`,
};

/** Ways in other than an address. */
const others = [
  'http://localhost:{port}/',
  'http://LOCALHOST:{port}/',
  'http://[::1]:{port}/',
  'http://[::]:{port}/',
  'http://[fe80::1]:{port}/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://100.100.100.200/latest/meta-data/',
  'http://168.63.129.16/machine?comp=goalstate',
  'http://example.com:22/',
  'http://example.com:6379/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:{port}/_GET',
  'ftp://127.0.0.1:{port}/',
  'unix:/var/run/docker.sock',
  'data:text/plain,hello',
];

export interface HostileUrl {
  url: string;
  what: string;
}

/** `port` is that of a server on every address of this machine, which must never be called. */
export function hostileUrls(port: number): HostileUrl[] {
  const spelt = inside.flatMap((address) => {
    const octets = address.split('.').map(Number) as unknown as Octets;
    return Object.entries(spellings).map(([what, spell]) => ({
      what: `${address}, ${what}`,
      url: `http://${spell(octets)}:${port}/`,
    }));
  });
  const named = others.map((url) => ({ what: url, url: url.replaceAll('{port}', String(port)) }));
  return [...spelt, ...named];
}

/** Keys that climb out of a folder in which `links` leads to the folder above. */
export function climbingKeys(target: string, absolute: string): string[] {
  const ups = [1, 2, 3, 8].map((times) => '../'.repeat(times));
  const disguises: ((key: string) => string)[] = [
    (key) => key,
    (key) => `./${key}`,
    (key) => `within/${'../'}${key}`,
    (key) => key.replaceAll('/', '//'),
    (key) => key.replaceAll('/', '\\'),
    (key) => key.replaceAll('../', '....//'),
    (key) => key.replaceAll('.', '%2e'),
    (key) => key.replaceAll('../', '%2e%2e%2f'),
    (key) => key.replaceAll('../', '..%c0%af'),
    (key) => key.replaceAll('../', '．．／'),
    (key) => `${key}\0.csv`,
  ];
  const climbing = ups.flatMap((up) => disguises.map((disguise) => disguise(`${up}${target}`)));
  return [
    ...climbing,
    absolute,
    `/${absolute}`,
    `file://${absolute}`,
    `//localhost${absolute}`,
    `~/${target}`,
    `links/${target}`,
    'linked.csv',
    '.',
    '..',
    './',
    'within',
    '/etc/passwd',
    '/proc/self/environ',
    '../../../../../../../../proc/self/environ',
    'C:\\Windows\\win.ini',
    '\\\\server\\share\\x.csv',
  ];
}

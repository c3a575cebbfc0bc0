import { isIP } from 'node:net';
import type { Writable } from 'node:stream';
import { Client, type FileInfo, FTPError } from 'basic-ftp';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { findAddresses, type Resolver, systemResolver } from '../../../lib/fetch/connector.ts';
import { type AddressRule, assertLiteral } from '../../../lib/fetch/target.ts';
import { adapterFailures } from '../errors.ts';
import type { FileSource, FoundFile, FtpPlace } from '../types.ts';

export interface FtpOptions {
  refuse: AddressRule;
  resolve?: Resolver;
  timeoutMs?: number;
  password: string;
}

const defaultTimeoutMs = 30_000;
const maxListingBytes = 16 * 1024 * 1024;

/** The files directly in an FTP directory. Plain FTP, or FTP with TLS before the login. */
export async function openFtp(place: FtpPlace, options: FtpOptions): Promise<FileSource> {
  const { password } = options;
  const address = await findAddress(place.host, options);
  // Data connections go to the checked address, whatever the server says, so it cannot redirect to internal hosts.
  const client = new Client(options.timeoutMs ?? defaultTimeoutMs, {
    allowSeparateTransferHost: false,
    maxListingBytes,
  });
  try {
    await connect(client, { place, address, password });
  } catch (error) {
    client.close();
    throw toFailure(error, place);
  }
  const asked: Asked = (work) =>
    work().catch((error: unknown) => {
      throw toFailure(error, place);
    });
  return {
    isAtomic: false,
    list: (isWanted) => list(client, { isWanted, asked }),
    find: (name) => asked(() => find(client, name)),
    read: (file, into) => read(client, { file, into, place }),
    move: (names) => asked(() => move(client, names)),
    close: async () => client.close(),
  };
}

/** The address is resolved once and used for the connection, so a second lookup cannot lead elsewhere. */
async function findAddress(host: string, { refuse, resolve = systemResolver }: FtpOptions): Promise<string> {
  assertLiteral(host, refuse);
  if (isIP(host) !== 0) return host;
  try {
    const [first] = await findAddresses(host, { refuse, resolve });
    return first?.address ?? host;
  } catch (error) {
    if (isSluiceError(error)) throw error;
    throw adapterFailures.raise.adapter_unreachable(`The host ${host} cannot be found: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function connect(
  client: Client,
  { place, address, password }: { place: FtpPlace; address: string; password: string },
): Promise<void> {
  const { port, user, tls: secure, host, caCertificate } = place;
  const name = isIP(host) === 0 ? { servername: host } : {};
  const trust = caCertificate === null ? {} : { ca: caCertificate };
  await client.access({
    host: address,
    port,
    user,
    password,
    secure,
    // Node checks the certificate against `host`, which is the address here, unless the name is given.
    secureOptions: { host, ...name, ...trust },
  });
  await client.cd(place.path);
}

/** Turns errors into errors of the adapter. */
type Asked = <T>(work: () => Promise<T>) => Promise<T>;

const batchSize = 500;

async function* list(
  client: Client,
  { isWanted, asked }: { isWanted: (name: string) => boolean; asked: Asked },
): AsyncGenerator<FoundFile[]> {
  const entries = (await asked(() => client.list())).filter((entry) => entry.isFile && isWanted(entry.name));
  for (let from = 0; from < entries.length; from += batchSize) {
    const files: FoundFile[] = [];
    for (const entry of entries.slice(from, from + batchSize)) {
      files.push(await asked(() => foundOf(client, entry)));
    }
    yield files;
  }
}

/** Asks for the exact time if the listing lacks it: minutes are too coarse to distinguish versions. */
async function foundOf(client: Client, entry: FileInfo): Promise<FoundFile> {
  const at = entry.modifiedAt ?? (await findTime(client, entry.name));
  const version = at === null ? `listed ${entry.rawModifiedAt}` : at.toISOString();
  return { path: entry.name, sizeBytes: entry.size, version: version.slice(0, 200), modifiedAt: null };
}

async function findTime(client: Client, name: string): Promise<Date | null> {
  try {
    return await client.lastMod(name);
  } catch (error) {
    // The server does not know the command, or the file has just disappeared.
    if (error instanceof FTPError) return null;
    throw error;
  }
}

async function find(client: Client, name: string): Promise<FoundFile | null> {
  try {
    const sizeBytes = await client.size(name);
    const at = await findTime(client, name);
    if (at !== null) return { path: name, sizeBytes, version: at.toISOString(), modifiedAt: null };
  } catch (error) {
    if (!(error instanceof FTPError)) throw error;
    // 550: the file does not exist. Any other code: the server cannot report sizes, but its listing can.
    if (error.code === 550) return null;
  }
  const entry = (await client.list()).find((one) => one.isFile && one.name === name);
  return entry ? foundOf(client, entry) : null;
}

async function read(
  client: Client,
  { file, into, place }: { file: FoundFile; into: Writable; place: FtpPlace },
): Promise<void> {
  try {
    await client.downloadTo(into, file.path);
  } catch (error) {
    if (!(error instanceof FTPError) || client.closed) throw toFailure(error, place);
    throw adapterFailures.raise.adapter_file_unreadable(
      `The file ${JSON.stringify(file.path)} cannot be read: ${error.message}`,
      { cause: error },
    );
  }
}

async function move(client: Client, { from, to }: { from: string; to: string }): Promise<void> {
  const slash = to.lastIndexOf('/');
  // An existing folder is an error too. The rename shows whether the folder can be used.
  if (slash > 0) await client.sendIgnoringError(`MKD ${to.slice(0, slash)}`);
  await client.rename(from, to);
}

function toFailure(error: unknown, { host, port, path }: FtpPlace): Error {
  if (isSluiceError(error)) return error;
  const server = `The FTP server ${host}:${port}`;
  if (error instanceof FTPError) {
    const what = error.code === 530 ? 'rejected the user or password' : `refused the request (path ${path})`;
    return adapterFailures.raise.adapter_refused(`${server} ${what}: ${error.message}`, { cause: error });
  }
  return adapterFailures.raise.adapter_unreachable(`${server} cannot be reached: ${messageOf(error)}`, {
    cause: error,
  });
}

import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import { isMissing, replaceOwnFile } from '../../lib/durable-files.ts';

/**
 * Whether the login link of a start may be printed. On the embedded database and a loopback address only this machine
 * can use it. Anywhere else the output usually ends in a log that others read.
 */
export function mayPrintLoginLink({
  host,
  publicUrl,
  isEmbedded,
}: {
  host: string;
  publicUrl: string | null;
  isEmbedded: boolean;
}): boolean {
  return isEmbedded && isLoopback(host) && (publicUrl === null || isLoopback(new URL(publicUrl).hostname));
}

/** Returns the path of the file. */
export async function keepLoginLink(dataDir: string, loginUrl: string): Promise<string> {
  const file = path.join(dataDir, 'login-link');
  await replaceOwnFile(file, `${loginUrl}\n`);
  return file;
}

/** So that `sluice login` finds the server although its port may have been chosen at its start. */
export async function keepServerUrl(dataDir: string, url: string): Promise<void> {
  await replaceOwnFile(serverUrlFile(dataDir), `${url}\n`);
}

/** The address of the server that was started last with this data directory; it may have ended. */
export async function findServerUrl(dataDir: string): Promise<string | null> {
  try {
    const url = (await readFile(serverUrlFile(dataDir), 'utf8')).trim();
    return URL.canParse(url) ? url : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function serverUrlFile(dataDir: string): string {
  return path.join(dataDir, 'server-url');
}

function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

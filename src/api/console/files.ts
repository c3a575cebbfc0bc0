import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A file of the built console as it is sent. */
export interface ConsoleFile {
  type: string;
  etag: string;
  /** Its name has a hash of its content, so it never changes under that name. */
  isImmutable: boolean;
  content: Buffer;
  /** The same compressed, where the build made it. */
  br: Buffer | null;
  gzip: Buffer | null;
}

export interface ConsoleFiles {
  /** The text of the page, without a nonce. Null when the console is not built. */
  page: string | null;
  /** By path of the URL. */
  files: ReadonlyMap<string, ConsoleFile>;
}

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

/**
 * Everything the build left, read once: it cannot change under a running server, and a request can only name what
 * was found here, so no path is ever made from one.
 */
export function loadConsoleFiles(directory: string): ConsoleFiles {
  const page = path.join(directory, 'index.html');
  if (!existsSync(page)) return { page: null, files: new Map() };
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)));
  const known = new Set(names);
  const files = new Map<string, ConsoleFile>();
  for (const name of names) {
    const type = types[path.extname(name)];
    // A build in progress writes to a scratch directory that must not be served.
    if (type === undefined || name.startsWith('.')) continue;
    const readIfThere = (other: string) =>
      known.has(other) ? readFileSync(path.join(directory, other)) : null;
    const content = readFileSync(path.join(directory, name));
    files.set(`/${name.split(path.sep).join('/')}`, {
      type,
      etag: `"${digestOf(content)}"`,
      isImmutable: name.startsWith(`assets${path.sep}`),
      content,
      br: readIfThere(`${name}.br`),
      gzip: readIfThere(`${name}.gz`),
    });
  }
  return { page: readFileSync(page, 'utf8'), files };
}

/** Short enough for a header, long enough not to collide. */
export function digestOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}

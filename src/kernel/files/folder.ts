import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * The file that a key names below a folder, or null when there is none. Links are resolved first, so that
 * nothing outside the folder can be named.
 */
export async function findBelow(folder: string, key: string): Promise<string | null> {
  if (key.includes('\0') || path.isAbsolute(key)) return null;
  const root = await realpath(folder).catch(() => null);
  const file = root === null ? null : await realpath(path.join(root, key)).catch(() => null);
  if (root === null || file === null || !file.startsWith(`${root}${path.sep}`)) return null;
  return (await stat(file)).isFile() ? file : null;
}

/** A tenant's folder below the shared one: no tenant can name another's files. */
export function tenantFolder(root: string, tenantId: string): string {
  const name = encodeURIComponent(tenantId);
  // A tenant id may contain what a folder name may not.
  return path.join(root, name === '.' || name === '..' ? name.replaceAll('.', '%2E') : name);
}

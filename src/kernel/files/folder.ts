import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * The file that a key names below a folder, or null when there is none. Where a link leads is looked at, not where it
 * seems to be: nothing outside of the folder is ever named.
 */
export async function findBelow(folder: string, key: string): Promise<string | null> {
  if (key.includes('\0') || path.isAbsolute(key)) return null;
  const root = await realpath(folder).catch(() => null);
  const file = root === null ? null : await realpath(path.join(root, key)).catch(() => null);
  if (root === null || file === null || !file.startsWith(`${root}${path.sep}`)) return null;
  return (await stat(file)).isFile() ? file : null;
}

/** The folder of a tenant below one that all of them share: nobody names another tenant's files. */
export function tenantFolder(root: string, tenantId: string): string {
  const name = encodeURIComponent(tenantId);
  // A tenant id may hold what no name of a folder may.
  return path.join(root, name === '.' || name === '..' ? name.replaceAll('.', '%2E') : name);
}

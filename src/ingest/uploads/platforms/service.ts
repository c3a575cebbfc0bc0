import { isDeepStrictEqual } from 'node:util';
import type { Database, Tx } from '../../../lib/postgres/db.ts';
import { uploadErrors } from '../errors.ts';
import { builtInPlatforms, findBuiltIn } from '../reports/platforms/built-in.ts';
import { type PlatformDefinition, platforms } from '../reports/types.ts';
import type { Upload } from '../types.ts';
import { definitionOf, type ProfileInput, problemsOf } from './profile-schema.ts';
import {
  deleteVersion,
  findNewest,
  findVersion,
  insertVersion,
  listPlatforms,
  type OwnPlatform,
  type PlatformKey,
} from './store.ts';

/** A platform, as people see it. */
export interface ShownPlatform {
  name: string;
  isBuiltIn: boolean;
  version: number | null;
  profile: PlatformDefinition;
  createdBy: string | null;
  createdAt: Date | null;
}

const mostPlatforms = 100;

export async function listAll(tx: Tx, tenantId: string): Promise<ShownPlatform[]> {
  const own = await listPlatforms(tx, tenantId, mostPlatforms);
  return [...platforms.map((name) => shownBuiltIn(builtInPlatforms[name])), ...own.map(shownOwn)];
}

export async function getPlatform(tx: Tx, key: PlatformKey): Promise<ShownPlatform> {
  const builtIn = findBuiltIn(key.name);
  if (builtIn !== null) return shownBuiltIn(builtIn);
  const newest = await findNewest(tx, key);
  if (newest === null || newest.deletedAt !== null) throw notFound(key.name);
  return shownOwn(newest);
}

/** Saves a new version of the profile; the same profile again changes nothing. */
export async function savePlatform(
  { db }: { db: Database },
  { tenantId, name, given, userId }: PlatformKey & { given: ProfileInput; userId: string },
): Promise<ShownPlatform> {
  if (findBuiltIn(name) !== null) throw reserved(name);
  const profile = definitionOf(name, given);
  const fields = problemsOf(profile);
  if (fields.length > 0) {
    throw uploadErrors.raise.platform_invalid(`The profile of ${name} cannot be used`, { fields });
  }
  return db.tenant(tenantId, async (tx) => {
    const newest = await findNewest(tx, { tenantId, name });
    if (newest?.deletedAt === null && isDeepStrictEqual(newest.profile, asStored(profile))) {
      return shownOwn(newest);
    }
    const own = await listPlatforms(tx, tenantId, mostPlatforms);
    if (own.length >= mostPlatforms && !own.some((one) => one.name === name)) {
      throw uploadErrors.raise.platform_limit(`The tenant has ${mostPlatforms} platforms, the most allowed`);
    }
    const version = (newest?.version ?? 0) + 1;
    const saved = await insertVersion(tx, { tenantId, name, version, profile, createdBy: userId });
    if (saved === null) {
      throw uploadErrors.raise.platform_changed(`The platform ${name} was changed at the same moment`);
    }
    return shownOwn(saved);
  });
}

/** Its uploads keep the version that they were read with. */
export async function deletePlatform({ db }: { db: Database }, key: PlatformKey): Promise<void> {
  if (findBuiltIn(key.name) !== null) throw reserved(key.name);
  await db.tenant(key.tenantId, async (tx) => {
    const newest = await findNewest(tx, key);
    const { version } = newest ?? { version: 0 };
    if (newest?.deletedAt !== null || !(await deleteVersion(tx, { ...key, version }))) {
      throw notFound(key.name);
    }
  });
}

/** The names that intake accepts besides the built-in ones. */
export async function ownNames({ db }: { db: Database }, tenantId: string): Promise<string[]> {
  const own = await db.read(tenantId, (tx) => listPlatforms(tx, tenantId, mostPlatforms));
  return own.map(({ name }) => name);
}

/** The profile that reports are read with now, and its version; null for an unknown platform. */
export async function findCurrent(
  tx: Tx,
  key: PlatformKey,
): Promise<{ definition: PlatformDefinition; version: number | null } | null> {
  const builtIn = findBuiltIn(key.name);
  if (builtIn !== null) return { definition: builtIn, version: null };
  const newest = await findNewest(tx, key);
  if (newest === null || newest.deletedAt !== null) return null;
  return { definition: newest.profile, version: newest.version };
}

/** Throws for a name that neither comes with Sluice nor was ever a platform of the tenant. Its uploads outlive it. */
export async function assertPlatform(tx: Tx, { tenantId, name }: PlatformKey): Promise<void> {
  if (findBuiltIn(name) !== null || (await findNewest(tx, { tenantId, name })) !== null) return;
  const message = `must be one of ${platforms.join(', ')}, or a platform of the tenant’s own`;
  throw uploadErrors.raise.platform_unknown(`There is no platform ${name}; it ${message}`, {
    fields: [{ pointer: '/platform', message }],
  });
}

/** The profile that an upload came in with. */
export async function definitionOfUpload(
  db: Database,
  { tenantId, platform, platformVersion }: Pick<Upload, 'tenantId' | 'platform' | 'platformVersion'>,
): Promise<PlatformDefinition> {
  const builtIn = platformVersion === null ? findBuiltIn(platform) : null;
  if (builtIn !== null) return builtIn;
  const version = platformVersion ?? 0;
  const found = await db.read(tenantId, (tx) => findVersion(tx, { tenantId, name: platform, version }));
  if (found === null) throw new Error(`There is no version ${version} of the platform ${platform}`);
  return found.profile;
}

const asStored = (profile: PlatformDefinition): unknown => JSON.parse(JSON.stringify(profile));

function shownBuiltIn(profile: PlatformDefinition): ShownPlatform {
  return {
    name: profile.platform,
    isBuiltIn: true,
    version: null,
    profile,
    createdBy: null,
    createdAt: null,
  };
}

function shownOwn({ name, version, profile, createdBy, createdAt }: OwnPlatform): ShownPlatform {
  return { name, isBuiltIn: false, version, profile, createdBy, createdAt };
}

const notFound = (name: string) =>
  uploadErrors.raise.platform_not_found(`The tenant has no platform ${JSON.stringify(name)}`);

const reserved = (name: string) =>
  uploadErrors.raise.platform_reserved(
    `${JSON.stringify(name)} is a platform that comes with Sluice and cannot be changed`,
  );

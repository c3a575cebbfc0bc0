import type { Ground } from '../../../kernel/house/house.ts';
import { findMetadataRefusal, findRefusal } from '../../../lib/fetch/addresses.ts';
import type { Adapter, FileSource, FtpPlace, S3Place } from '../types.ts';
import { openFolder } from './folder.ts';
import { openFtp } from './ftp.ts';
import { lendFor, scrubbed } from './place-secrets.ts';
import { openS3 } from './s3.ts';

export interface SourceDeps extends Pick<Ground, 'fetch' | 'secrets'> {
  /** Each tenant has a folder inside it. Null: no folder adapters. */
  adapterFolder: string | null;
  blockPrivateAddresses: boolean;
}

/** Connects to the place of an adapter. The caller closes it. */
export function openPlace(
  deps: SourceDeps,
  { tenantId, place }: Pick<Adapter, 'tenantId' | 'place'>,
): Promise<FileSource> {
  switch (place.kind) {
    case 'folder':
      return openFolder(place, { root: deps.adapterFolder, tenantId });
    case 's3':
      return openBucket(deps, { tenantId, place });
    case 'ftp':
      return openDirectory(deps, { tenantId, place });
  }
}

async function openBucket(
  { fetch, secrets }: SourceDeps,
  { tenantId, place }: { tenantId: string; place: S3Place },
): Promise<FileSource> {
  const id = await lendFor(secrets, { tenantId, place, name: place.accessKeyIdSecret });
  const key = await lendFor(secrets, { tenantId, place, name: place.secretAccessKeySecret });
  const source = openS3(place, { fetch, keys: { accessKeyId: id.value, secretAccessKey: key.value } });
  return scrubbed(source, [id, key]);
}

async function openDirectory(
  { blockPrivateAddresses, secrets }: SourceDeps,
  { tenantId, place }: { tenantId: string; place: FtpPlace },
): Promise<FileSource> {
  const lent = await lendFor(secrets, { tenantId, place, name: place.passwordSecret });
  const refuse = blockPrivateAddresses ? findRefusal : findMetadataRefusal;
  try {
    return scrubbed(await openFtp(place, { refuse, password: lent.value }), [lent]);
  } catch (error) {
    throw lent.scrubError(error);
  }
}

import type { Ground } from '../../../kernel/house/house.ts';
import { findMetadataRefusal, findRefusal } from '../../../lib/fetch/addresses.ts';
import type { Adapter, FileSource } from '../types.ts';
import { openFolder } from './folder.ts';
import { openFtp } from './ftp.ts';
import { openS3 } from './s3.ts';

export interface SourceDeps extends Pick<Ground, 'fetch' | 'secretOf'> {
  /** Each tenant has a folder inside it. Null: no folder adapters. */
  adapterFolder: string | null;
  blockPrivateAddresses: boolean;
}

/** Connects to the place of an adapter. The caller closes it. */
export function openPlace(
  deps: SourceDeps,
  { tenantId, place }: Pick<Adapter, 'tenantId' | 'place'>,
): Promise<FileSource> {
  const secret = (name: string) => deps.secretOf(tenantId, name);
  switch (place.kind) {
    case 'folder':
      return openFolder(place, { root: deps.adapterFolder, tenantId });
    case 's3':
      return openS3(place, { fetch: deps.fetch, secret });
    case 'ftp':
      return openFtp(place, {
        refuse: deps.blockPrivateAddresses ? findRefusal : findMetadataRefusal,
        secret,
      });
  }
}

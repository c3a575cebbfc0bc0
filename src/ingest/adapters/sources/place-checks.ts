import type { Role } from '../../../kernel/tenancy/types.ts';
import { findMetadataRefusal, findRefusal } from '../../../lib/fetch/addresses.ts';
import { assertLiteral, parseTarget } from '../../../lib/fetch/target.ts';
import { assertPlace as assertS3Place } from '../../../lib/s3/place.ts';
import { adapterErrors } from '../errors.ts';
import type { Place } from '../types.ts';
import type { SourceDeps } from './open-place.ts';
import { secretsOf, useOf } from './place-secrets.ts';

/** Refuses an address that may not be reached and a secret that may not be sent there. */
export async function assertPlaceUsable(
  deps: SourceDeps,
  { tenantId, role, place }: { tenantId: string; role: Role; place: Place },
): Promise<void> {
  assertPlace(deps, place);
  for (const wanted of secretsOf(place)) {
    await deps.secrets.assertUsable({ tenantId, role, use: useOf(place) }, wanted);
  }
}

function assertPlace({ adapterFolder, blockPrivateAddresses }: SourceDeps, place: Place): void {
  if (place.kind === 'folder' && adapterFolder === null) {
    throw adapterErrors.raise.adapter_invalid(
      'This server has no folder for adapters; the operator sets ADAPTER_FOLDER',
      { fields: [{ pointer: '/kind', message: 'must be s3 or ftp on this server' }] },
    );
  }
  const refuse = blockPrivateAddresses ? findRefusal : findMetadataRefusal;
  if (place.kind === 's3') parseTarget(assertS3Place(place).origin, { refuse });
  if (place.kind === 'ftp') assertLiteral(place.host, refuse);
}

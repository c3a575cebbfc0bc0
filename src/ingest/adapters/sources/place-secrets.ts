import type { LentSecret } from '../../../kernel/secrets/lent-secret.ts';
import type { SecretLender, SecretUse, WantedSecret } from '../../../kernel/secrets/types.ts';
import { assertPlace } from '../../../lib/s3/place.ts';
import type { FileSource, FtpPlace, Place, S3Place } from '../types.ts';

/** The secrets that a place is opened with, and where they go. */
export function secretsOf(place: Place): WantedSecret[] {
  if (place.kind === 'folder') return [];
  const urls = [addressOf(place)];
  if (place.kind === 'ftp') return [{ name: place.passwordSecret, urls, pointer: '/password_secret' }];
  return [
    { name: place.accessKeyIdSecret, urls, pointer: '/access_key_id_secret' },
    { name: place.secretAccessKeySecret, urls, pointer: '/secret_access_key_secret' },
  ];
}

export function useOf({ kind }: Place): SecretUse {
  return `adapter:${kind}`;
}

/** Who may configure an adapter may use every secret, and its scans act for its creator. */
const creatorRole = 'admin';

/** Lends a secret for this place. Neither protocol follows redirects, so the place's host is where it goes. */
export async function lendFor(
  secrets: Pick<SecretLender, 'lend'>,
  { tenantId, place, name }: { tenantId: string; place: S3Place | FtpPlace; name: string },
): Promise<LentSecret> {
  const lent = await secrets.lend({ tenantId, role: creatorRole, use: useOf(place) }, name);
  lent.assertMayGoTo(addressOf(place));
  return lent;
}

/** An FTP host may be a text that is no host; then nothing is sent there. */
function addressOf(place: S3Place | FtpPlace): string {
  if (place.kind === 's3') return assertPlace(place).origin;
  const host = place.host.includes(':') ? `[${place.host}]` : place.host;
  return `ftp://${host}:${place.port}`;
}

/** The same source, whose errors do not repeat what servers echo of the secrets. */
export function scrubbed(source: FileSource, lent: readonly LentSecret[]): FileSource {
  const clean = (error: unknown): never => {
    for (const each of lent) each.scrubError(error);
    throw error;
  };
  return {
    isAtomic: source.isAtomic,
    async *list(isWanted) {
      try {
        yield* source.list(isWanted);
      } catch (error) {
        clean(error);
      }
    },
    find: (path) => source.find(path).catch(clean),
    read: (file, into) => source.read(file, into).catch(clean),
    move: (names) => source.move(names).catch(clean),
    close: () => source.close(),
  };
}

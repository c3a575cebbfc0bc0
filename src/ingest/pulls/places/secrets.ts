import type { FilePlace } from '../../../kernel/house/doors.ts';
import type { SecretLender, SecretUse, WantedSecret } from '../../../kernel/secrets/types.ts';
import type { Role } from '../../../kernel/tenancy/types.ts';
import type { ApiPlace, UrlPlace } from '../form.ts';
import type { Place } from '../types.ts';

/** Places whose secrets and addresses are the business of the house that opens them. */
export function isFilePlace(place: Place): place is FilePlace {
  return place.kind === 's3' || place.kind === 'ftp';
}

export function useOf({ kind }: Place): SecretUse {
  return `source:${kind}`;
}

/** Throws when a secret may not be used, or not be sent where this place would send it. */
export async function assertSecrets(
  secrets: Pick<SecretLender, 'assertUsable'>,
  { tenantId, role, place }: { tenantId: string; role: Role; place: UrlPlace | ApiPlace },
): Promise<void> {
  const user = { tenantId, role, use: useOf(place) };
  for (const wanted of secretsOf(place)) await secrets.assertUsable(user, wanted);
}

function secretsOf(place: UrlPlace | ApiPlace): WantedSecret[] {
  switch (place.kind) {
    case 'url': {
      const { auth } = place;
      const urls = [place.url];
      if (auth.type === 'none') return [];
      return auth.type === 'basic'
        ? [{ name: auth.password_secret, urls, pointer: '/place/auth/password_secret' }]
        : [{ name: auth.secret, urls, pointer: '/place/auth/secret' }];
    }
    case 'meta': {
      const urls = [place.endpoint];
      const token = { name: place.access_token_secret, urls, pointer: '/place/access_token_secret' };
      const { app_secret_secret: name } = place;
      // Only a proof made with it is sent, but whoever may not use it may not make one either.
      return name === null ? [token] : [token, { name, urls, pointer: '/place/app_secret_secret' }];
    }
    case 'google': {
      const login = [place.token_endpoint];
      return [
        { name: place.client_secret_secret, urls: login, pointer: '/place/client_secret_secret' },
        { name: place.refresh_token_secret, urls: login, pointer: '/place/refresh_token_secret' },
        {
          name: place.developer_token_secret,
          urls: [place.endpoint],
          pointer: '/place/developer_token_secret',
        },
      ];
    }
    case 'tiktok':
      return [
        { name: place.access_token_secret, urls: [place.endpoint], pointer: '/place/access_token_secret' },
      ];
  }
}

import type { UploadSource } from '../../api/types.ts';

export type SourceKind = UploadSource['place']['kind'];

/** A text, one of a list, a switch, or the name of a stored secret. */
export interface PlaceField {
  name: string;
  label: string;
  description?: string;
  type?: 'secret' | 'switch' | readonly string[];
  isRequired?: boolean;
  usual?: string | boolean;
}

const level = (usual: string): PlaceField => ({
  name: 'level',
  label: 'One line per day and',
  type: ['campaign', 'ad_set', 'ad'],
  usual,
});

export const kindTitles: Record<SourceKind, string> = {
  meta: 'Meta Ads (reporting API)',
  google: 'Google Ads (reporting API)',
  tiktok: 'TikTok Ads (reporting API)',
  url: 'URL',
  s3: 'S3 prefix',
  ftp: 'FTP directory',
};

/** Kinds whose files do not say which platform they are of. */
export const isOfAnyPlatform = (kind: SourceKind) => kind === 'url' || kind === 's3' || kind === 'ftp';

const pattern: PlaceField = {
  name: 'pattern',
  label: 'File names',
  description: '* matches anything, ? one character. Empty: all files.',
};

export const placeFields: Record<SourceKind, readonly PlaceField[]> = {
  meta: [
    { name: 'account_id', label: 'Ad account', description: 'With or without act_', isRequired: true },
    { name: 'access_token_secret', label: 'Access token', type: 'secret', isRequired: true },
    {
      name: 'app_secret_secret',
      label: 'App secret',
      description: 'Only where the app requires a proof of it.',
      type: 'secret',
    },
    level('ad'),
  ],
  google: [
    { name: 'customer_id', label: 'Customer id', description: 'With or without dashes', isRequired: true },
    { name: 'login_customer_id', label: 'Manager account', description: 'If access is through one.' },
    { name: 'client_id', label: 'OAuth client id', isRequired: true },
    { name: 'client_secret_secret', label: 'OAuth client secret', type: 'secret', isRequired: true },
    { name: 'refresh_token_secret', label: 'Refresh token', type: 'secret', isRequired: true },
    { name: 'developer_token_secret', label: 'Developer token', type: 'secret', isRequired: true },
    level('campaign'),
  ],
  tiktok: [
    { name: 'advertiser_id', label: 'Advertiser id', isRequired: true },
    { name: 'access_token_secret', label: 'Access token', type: 'secret', isRequired: true },
    level('ad'),
  ],
  url: [
    {
      name: 'url',
      label: 'Address',
      description: '{date_from} and {date_to} become the days that a pull asks for.',
      isRequired: true,
    },
    {
      name: 'secret',
      label: 'Bearer token',
      description: 'Empty: the address needs no login. Other logins: by the API.',
      type: 'secret',
    },
  ],
  s3: [
    { name: 'bucket', label: 'Bucket', isRequired: true },
    { name: 'prefix', label: 'Prefix', description: 'Such as in/' },
    { name: 'region', label: 'Region', usual: 'us-east-1' },
    { name: 'endpoint', label: 'Endpoint', description: 'Empty: Amazon’s own.' },
    { name: 'path_style', label: 'Bucket in the path', type: 'switch', usual: false },
    { name: 'access_key_id_secret', label: 'Access key id', type: 'secret', isRequired: true },
    { name: 'secret_access_key_secret', label: 'Secret access key', type: 'secret', isRequired: true },
    pattern,
  ],
  ftp: [
    { name: 'host', label: 'Host', isRequired: true },
    { name: 'path', label: 'Directory', usual: '/' },
    { name: 'user', label: 'User', usual: 'anonymous' },
    { name: 'password_secret', label: 'Password', type: 'secret', isRequired: true },
    { name: 'tls', label: 'Encrypted (FTPS)', type: 'switch', usual: true },
    pattern,
  ],
};

export type PlaceDraft = Record<string, string | boolean>;

export function placeDraftOf(kind: SourceKind, place: Record<string, unknown> | null): PlaceDraft {
  const auth = (place?.auth ?? {}) as { type?: string; secret?: string };
  const known: Record<string, unknown> = {
    ...place,
    ...(auth.type === 'bearer' ? { secret: auth.secret } : {}),
  };
  return Object.fromEntries(
    placeFields[kind].map(({ name, usual = '' }) => {
      const value = known[name] ?? usual;
      return [name, typeof value === 'boolean' ? value : String(value)];
    }),
  );
}

/** As the API wants it. What the form does not show stays as it was. */
export function placeOf(kind: SourceKind, draft: PlaceDraft, before: Record<string, unknown> | null): object {
  const given = Object.fromEntries(
    placeFields[kind].flatMap(({ name, usual }) => {
      const value = draft[name] ?? '';
      if (typeof value === 'boolean') return [[name, value]];
      const text = value.trim();
      return text === '' ? (usual === undefined ? [] : [[name, usual]]) : [[name, text]];
    }),
  );
  const shown = new Set(placeFields[kind].map(({ name }) => name));
  const others = Object.fromEntries(Object.entries(before ?? {}).filter(([name]) => !shown.has(name)));
  if (kind !== 'url') return { ...others, ...given, kind };
  const { secret, ...rest } = given;
  const { auth: known, ...more } = others;
  const isOther =
    secret === undefined && known !== undefined && (known as { type: string }).type !== 'bearer';
  const auth = isOther ? known : secret === undefined ? { type: 'none' } : { type: 'bearer', secret };
  return { ...more, ...rest, auth, kind };
}

export function isPlaceReady(kind: SourceKind, draft: PlaceDraft): boolean {
  return placeFields[kind].every(
    ({ name, isRequired }) => isRequired !== true || String(draft[name] ?? '').trim() !== '',
  );
}

const mask = '***';

/** How a value may be shown to a person: as it is, without its password, or not at all. */
export function maskValue(entry: { secret?: 'whole' | 'url' }, value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (entry.secret === undefined) return typeof value === 'string' ? `"${value}"` : String(value);
  if (entry.secret === 'whole' || typeof value !== 'string') return mask;
  return maskUrl(value);
}

/** A URL without its password; text that is no URL is not shown, since the password may be anywhere in it. */
function maskUrl(text: string): string {
  if (!URL.canParse(text) || !text.includes('://')) return mask;
  const url = new URL(text);
  if (url.password !== '') url.password = mask;
  if (url.searchParams.has('password')) url.searchParams.set('password', mask);
  return url.href;
}

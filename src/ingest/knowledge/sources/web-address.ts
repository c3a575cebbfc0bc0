import { storedText } from '../../../kernel/http/stored-text.ts';

/** An address in a request. All users with read access see it, so it must not contain a password. */
export function webAddress(maxLength: number) {
  return storedText(maxLength)
    .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'must be an http(s) address')
    .refine((text) => !hasCredentials(text), 'must not contain a user name or a password')
    .meta({ format: 'uri' });
}

function hasCredentials(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

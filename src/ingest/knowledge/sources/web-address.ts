import { storedText } from '../../../kernel/http/stored-text.ts';

/** An address as it is written in a request. It is shown to whoever may read, so a password has no place in it. */
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

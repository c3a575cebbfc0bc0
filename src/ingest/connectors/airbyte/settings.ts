import type { AirbyteCredentials, AirbyteSettings } from './types.ts';

/** The base URL without a slash at its end, and credentials that a request can carry. The messages hold neither. */
export function checkSettings({ baseUrl, credentials }: AirbyteSettings): {
  baseUrl: string;
  credentials: AirbyteCredentials;
} {
  return { baseUrl: checkBaseUrl(baseUrl), credentials: checkCredentials(credentials) };
}

function checkBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isUsable =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (!isUsable) {
    throw new Error(
      'The base URL of Airbyte cannot be used. Allowed: an http or https URL without credentials, query and ' +
        'fragment, such as https://api.airbyte.com/v1. Correct AIRBYTE_BASE_URL',
    );
  }
  return url.href.replace(/\/+$/, '');
}

function checkCredentials(credentials: AirbyteCredentials): AirbyteCredentials {
  // Trims both kinds: a line break often comes along when it is pasted.
  if (credentials.type === 'token') {
    return { ...credentials, token: checkSecret(credentials.token, 'AIRBYTE_API_TOKEN') };
  }
  if (credentials.type === 'basic') {
    return {
      type: 'basic',
      username: checkSecret(credentials.username, 'The user name'),
      password: checkSecret(credentials.password, 'The password'),
    };
  }
  return {
    type: 'client',
    clientId: checkSecret(credentials.clientId, 'AIRBYTE_CLIENT_ID'),
    clientSecret: checkSecret(credentials.clientSecret, 'AIRBYTE_CLIENT_SECRET'),
  };
}

const maxSecretLength = 8_000;

function checkSecret(value: string, setting: string): string {
  const trimmed = value.trim();
  if (!/^[\x21-\x7e]+$/.test(trimmed) || trimmed.length > maxSecretLength) {
    throw new Error(
      `${setting} is empty, longer than ${maxSecretLength} characters, or contains blanks or line breaks. ` +
        'Copy it again from the settings of the Airbyte user',
    );
  }
  return trimmed;
}

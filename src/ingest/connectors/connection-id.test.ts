import { expect, test } from 'vitest';
import { canonicalConnectionId, hasHiddenCharacters } from './connection-id.ts';

const canonical = '9924bcd0-99be-453d-ba47-c2c9766f7da5';

test.each([
  canonical,
  canonical.toUpperCase(),
  canonical.replaceAll('-', ''),
  `{${canonical}}`,
  `urn:uuid:${canonical}`,
  `URN:UUID:${canonical.toUpperCase()}`,
  '9924-bcd0-99be-453d-ba47-c2c9-766f-7da5',
  '９９２４bcd0-99be-453d-ba47-c2c9766f7da5',
])('%j is one and the same UUID', (spelling) => {
  expect(canonicalConnectionId(spelling)).toBe(canonical);
});

test.each(['conn-123', 'A Connection', 'deadbeef', `${canonical}0`, '{conn}', 'Ünïcode'])(
  'an id such as %j, which is not a UUID, stays as it is',
  (id) => {
    expect(canonicalConnectionId(id)).toBe(id);
    expect(hasHiddenCharacters(id)).toBe(false);
  },
);

test.each([' a', 'a ', 'a\u00a0', '\u3000a', 'a\u200b', 'a\u2028', '\ufeffa', 'a\u00adb'])(
  '%j has invisible characters',
  (id) => {
    expect(hasHiddenCharacters(id)).toBe(true);
  },
);

import { describe, expect, test } from 'vitest';
import { isPlaceReady, placeDraftOf, placeFields, placeOf, type SourceKind } from './place-forms.ts';

describe('the form of a place', () => {
  test('sends what was entered, leaves out what is empty, and keeps what it does not show', () => {
    const before = {
      kind: 'meta',
      account_id: '1',
      access_token_secret: 'a',
      level: 'ad',
      endpoint: 'https://proxy',
    };
    const draft = { ...placeDraftOf('meta', before), account_id: ' 2 ' };
    expect(placeOf('meta', draft, before)).toEqual({
      ...{ kind: 'meta', account_id: '2', access_token_secret: 'a', level: 'ad' },
      endpoint: 'https://proxy',
    });
  });

  test('keeps a login of a URL that it cannot show, and replaces a token', () => {
    const basic = { kind: 'url', url: 'https://a', auth: { type: 'basic', user: 'u', password_secret: 's' } };
    expect(placeOf('url', placeDraftOf('url', basic), basic)).toEqual(basic);
    const draft = { ...placeDraftOf('url', basic), secret: 'token' };
    expect(placeOf('url', draft, basic)).toMatchObject({ auth: { type: 'bearer', secret: 'token' } });
    expect(placeOf('url', { url: 'https://a', secret: '' }, null)).toMatchObject({ auth: { type: 'none' } });
  });

  test.each(Object.keys(placeFields) as SourceKind[])(
    'of %s is not ready while something needed is empty',
    (kind) => {
      expect(isPlaceReady(kind, placeDraftOf(kind, null))).toBe(false);
      const full = Object.fromEntries(placeFields[kind].map(({ name }) => [name, 'x']));
      expect(isPlaceReady(kind, full)).toBe(true);
    },
  );
});

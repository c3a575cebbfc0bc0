import type { Place, Sent } from './each-string.ts';

const base = { aliases: { campaign_name: ['Spot'], spend: ['Paid'] } };

/** Where the texts of a tenant's own platforms can be found again: in the response, which shows what is stored. */
export function platformPlaces(): Record<string, Place> {
  const put = 'PUT /api/uploads/platforms/:name';
  const params = async () => ({ name: 'naughty' });
  const word: Place = { back: null, why: 'a word of a list', params, base };
  const fieldName: Place = {
    back: null,
    why: 'has to be a field or a language',
    params,
    base,
    isAlike: true,
  };
  const kept = (find: (profile: Record<string, unknown>) => unknown, more: Partial<Place> = {}): Place => ({
    back: async ({ told }: Sent) => find(told.body.profile as Record<string, unknown>),
    params,
    base,
    isAlike: true,
    ...more,
  });
  const first = (name: string) => kept((profile) => (profile[name] as string[])[0]);
  return {
    [`${put} /title`]: kept(({ title }) => title, { isAlike: false }),
    [`${put} /notes`]: kept(({ notes }) => notes),
    [`${put} /daily_advice`]: kept(({ daily_advice: advice }) => advice),
    [`${put} /micros/0`]: first('micros'),
    [`${put} /marks/0`]: first('marks'),
    [`${put} /dimensions/0`]: first('dimensions'),
    [`${put} /total_labels/0`]: first('total_labels'),
    [`${put} /decimal_mark`]: word,
    [`${put} /date_order`]: word,
    [`${put} /aliases/*`]: fieldName,
    [`${put} /aliases/*=`]: fieldName,
    [`${put} /aliases/*/0`]: fieldName,
    [`${put} /aliases/*/*`]: fieldName,
    [`${put} /aliases/*/*=`]: fieldName,
    [`${put} /aliases/*/*/0`]: fieldName,
    [`${put} /api/*`]: fieldName,
    [`${put} /api/*=`]: fieldName,
    [`${put} /api/*/0`]: fieldName,
  };
}

/** What a number stands for, by the format that it is shown in. */
export type NumberKind = 'number' | 'date' | 'time' | 'date_time' | 'elapsed';

/** The formats that every program knows by their number; those from 27 on are dates in East Asian calendars. */
export function kindOfBuiltIn(id: number): NumberKind {
  if (id === 22) return 'date_time';
  if (id === 46) return 'elapsed';
  if ((id >= 18 && id <= 21) || id === 45 || id === 47 || id === 32 || id === 33) return 'time';
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58)) return 'date';
  return 'number';
}

const elapsedToken = /\[(?:h+|m+|s+)\]/;
/** Text in quotes, escaped, repeated or left out, and brackets: colours, conditions, currencies, languages. */
const decoration = /"[^"]*"?|\\.|[_*].|\[[^\]]*\]?/g;

/** Formats that people write, such as `dd/mm/yyyy hh:mm` or `#,##0.00 "days"`. */
export function kindOfFormat(code: string): NumberKind {
  const lower = code.slice(0, 1_000).toLowerCase();
  if (elapsedToken.test(lower.replace(/"[^"]*"|\\./g, ''))) return 'elapsed';
  // The first of up to four sections is the one for positive numbers.
  const letters = lower.replace(decoration, '').split(';')[0]?.replace('general', '') ?? '';
  const spoken = letters.replace(/e[+-]/g, '');
  const hasTime = /[hs]|am\/pm|a\/p/.test(spoken);
  const bare = spoken.replace(/am\/pm|a\/p/g, '');
  const hasDate = /[yde]/.test(bare) || (!hasTime && bare.includes('m'));
  if (hasDate) return hasTime ? 'date_time' : 'date';
  return hasTime ? 'time' : 'number';
}

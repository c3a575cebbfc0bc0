/** Arabic and Persian digits and their marks as the usual ones; NFKC leaves them. */
export function withLatinDigits(text: string): string {
  return arabic.test(text) ? text.replace(everyArabic, (sign) => plain(sign)) : text;
}

function plain(sign: string): string {
  if (sign === '\u066b') return '.';
  if (sign === '\u066c') return ',';
  const code = sign.charCodeAt(0);
  return String(code - (code >= 0x6f0 ? 0x6f0 : 0x660));
}

const arabic = /[\u0660-\u0669\u066b\u066c\u06f0-\u06f9]/;
const everyArabic = new RegExp(arabic, 'g');

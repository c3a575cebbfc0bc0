/** The ISO 4217 code of a text, or null. `$` could be several currencies, so it has no code. */
export function currencyOf(text: string): string | null {
  const trimmed = text.trim();
  const code = trimmed.toUpperCase();
  if (codes.has(code)) return code;
  return symbols.get(trimmed) ?? null;
}

/** Removes a currency sign or code from either end of an amount. */
export function withoutCurrency(amount: string): string {
  // `-$5` and `$-5` are the same.
  const [, outer = '', rest = ''] = /^([+-]?)(.*)$/su.exec(amount) ?? [];
  const { before, figure, after } = partsOf(rest);
  if (!isCurrencyMark(before) || !isCurrencyMark(after)) return amount;
  // The point of `Rs.500` belongs to the sign.
  const isPointOfSign = figure.startsWith('.') && /\p{L}$/u.test(before);
  return outer + (isPointOfSign ? figure.slice(1).trimStart() : figure);
}

/**
 * A figure and what stands around it. In two steps: one pattern for all of it would try every way to divide the spaces
 * of a long cell, for minutes.
 */
function partsOf(text: string): { before: string; figure: string; after: string } {
  const [whole = '', before = '', sign = '', run = ''] = figureStart.exec(text) ?? [];
  const figure = run.replace(/(?<![' .])[' .]+$/, '');
  const after = run.slice(figure.length) + text.slice(whole.length);
  if (!/\d/.test(figure) || /[\d,]/.test(after)) return { before: '', figure: text, after: '' };
  return { before, figure: sign + figure, after };
}

function isCurrencyMark(text: string): boolean {
  const mark = text.trim();
  const isSign = codes.has(mark.toUpperCase()) || symbols.has(mark) || anySign.test(mark);
  return mark === '' || isSign || signsOfSeveral.has(mark.toLowerCase());
}

const figureStart = /^([^\d.,+-]*)([+-]?)([\d.,' ]*)/u;
const anySign = /^(?:[A-Z]{1,3})?\p{Sc}$/u;

// A Map, because a cell may contain the name of a property that every object has.
const symbols = new Map(
  (
    '€ EUR, £ GBP, R$ BRL, US$ USD, A$ AUD, CA$ CAD, MX$ MXN, NZ$ NZD, NT$ TWD, HK$ HKD, JP¥ JPY, CN¥ CNY, 円 JPY, ' +
    '元 CNY, zł PLN, Kč CZK, Ft HUF, ₺ TRY, ₹ INR, ₩ KRW, ₪ ILS, ₫ VND, ₱ PHP, ₦ NGN, ₴ UAH, ฿ THB'
  )
    .split(', ')
    .map((pair): [string, string] => [pair.slice(0, -4), pair.slice(-3)]),
);

/** Written beside amounts, but no proof of one currency. Never `k` or `M`, which multiply. */
const signsOfSeveral = new Set(
  'rp rp. kr kr. rs rs. r rm s/ s/. lei лв лв. руб руб. р. грн грн. đ ден fr. sfr. u$s mex$ ر.س د.إ ج.م ر.ق د.ك'.split(
    ' ',
  ),
);

const codes = new Set(
  (
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD ' +
    'CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF ' +
    'GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK ' +
    'LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR ' +
    'PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP ' +
    'SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL'
  ).split(' '),
);

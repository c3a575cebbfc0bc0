import { isNullName } from '../values/numbers.ts';

/**
 * Whether a cell looks like the label of a total row: `Total: Campaigns`, `Gesamt: Konto`, `合計: キャンペーン`, in old AdWords
 * files `Total - all` and `Total - Search`, `Total of 2 results`, `全2件の結果`. A line that states the copyright is
 * no data either. The label alone is not enough: a campaign may be called "Total: Sale".
 */
export function isTotalLabel(text: string): boolean {
  if (text.length > maxLabelLength) return false;
  const label = text.normalize('NFKC').trim().toLowerCase();
  return wordLabel.test(label) || countLabel.test(label) || label.startsWith('©');
}

/** Whether a cell is the bare word for a total, such as `Total` or `合計`. */
export function isTotalWord(text: string): boolean {
  return text.length <= maxWordLength && bareWord.test(text.normalize('NFKC').trim().toLowerCase());
}

/** Whether a cell stands for all values of its column, as pivot tables write beside their subtotals. */
export function isAllWord(text: string): boolean {
  return text.length <= maxWordLength && allWords.includes(text.trim().toLowerCase());
}

/** In lower case. */
export const allWords: readonly string[] = [
  ...[
    'all',
    'alle',
    'tous',
    'toutes',
    'todos',
    'todas',
    'tutti',
    'tutte',
    'alles',
    'wszystkie',
    'tümü',
    'hepsi',
  ],
  ...['すべて', '全て', '全部', '所有', '전체', '모두', 'tất cả', 'все', 'semua', 'الكل'],
];

/** The first non-empty cell of a row, or null. */
export function firstFilled(cells: readonly string[]): string | null {
  for (const cell of cells) if (!isNullName(cell)) return cell;
  return null;
}

const maxLabelLength = 200;
const maxWordLength = 40;
const words = [
  'totals?',
  'grand total',
  'overall total',
  'sub-?total(?:e|en|s)?',
  'sub total',
  'sum',
  'totaux',
  'total (?:general|général|geral)',
  'totale',
  'totali',
  'totaal',
  'totalen',
  'gesamt',
  'insgesamt',
  'gesamtsumme',
  'gesamtergebnis',
  'summe',
  'zwischensumme',
  'sous-total',
  'subtotaal',
  'suma częściowa',
  'ara toplam',
  '小計',
  '小计',
  '소계',
  'suma',
  'razem',
  'łącznie',
  'ogółem',
  'toplam',
  'genel toplam',
  '合計',
  '总计',
  '總計',
  '合计',
  '总和',
  '합계',
  '총계',
  '총합',
  'tổng',
  'tổng cộng',
  'tổng số',
  'итого',
  'всего',
  'jumlah',
  'الإجمالي',
  'المجموع',
  'إجمالي',
];
const wordLabel = new RegExp(`^(?:${words.join('|')})(?: ?[:：].*| [-–—] .*)?$`, 'u');
const bareWord = new RegExp(`^(?:${words.join('|')})$`, 'u');
const amount = '[\\d.,\\s]+';
const countLabel = new RegExp(
  [
    `^(?:total of|total de|totale di|totaal van|total:?) ${amount} (?:results?|resultados?|résultats?|risultat[io]|`,
    'resulta(?:at|ten))$',
    `|^(?:gesamt|insgesamt):? ${amount} ergebnisse?$`,
    `|^(?:łącznie|razem|suma):? ${amount} wynik(?:i|ów)?$`,
    `|^toplam ${amount} sonuç$`,
    `|^${amount} sonucun toplamı$`,
    `|^total ${amount} hasil$`,
    `|^tổng ${amount} kết quả$`,
    `|^총 ?${amount} ?개(?:의)? 결과$`,
    `|^(?:итого|всего):? ${amount} результат(?:а|ов)?$`,
    `|^全${amount}件の結果$`,
    `|^[共全总總]计?計?${amount}[条條个個項项]?(?:结果|結果)$`,
  ].join(''),
  'u',
);

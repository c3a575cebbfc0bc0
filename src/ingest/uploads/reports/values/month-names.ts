import { foldLetters } from '../header-names.ts';

/** The month, 1 to 12, that a word of a date names in one of the known languages; null when it is none. */
export function monthOf(word: string): number | null {
  return months.get(foldLetters(word)) ?? null;
}

/** Each line is one language (or one of its ways to shorten), January to December. */
const calendars = [
  'january february march april may june july august september october november december',
  'jan feb mar apr may jun jul aug sep oct nov dec',
  'januar februar märz april mai juni juli august september oktober november dezember',
  'jänner feber mrz apr mai jun jul aug sept okt nov dez',
  'janvier février mars avril mai juin juillet août septembre octobre novembre décembre',
  'janv févr mars avr mai juin juil août sept oct nov déc',
  'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre',
  'ene feb mar abr may jun jul ago set oct nov dic',
  'janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro',
  'jan fev mar abr mai jun jul ago set out nov dez',
  'gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre',
  'gen feb mar apr mag giu lug ago set ott nov dic',
  'januari februari maart april mei juni juli augustus september oktober november december',
  'jan feb mrt apr mei jun jul aug sep okt nov dec',
  'stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia',
  'styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień',
  'sty lut mar kwi maj cze lip sie wrz paź lis gru',
  'ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık',
  'oca şub mar nis may haz tem ağu eyl eki kas ara',
];

const months = new Map(
  calendars.flatMap((calendar) =>
    calendar.split(' ').map((name, index): [string, number] => [foldLetters(name), index + 1]),
  ),
);

import { makeDice } from './dice.ts';

/** A catalogue and rows that describe its products differently, the same every time. */
export interface Product {
  sku: string;
  brand: string;
  title: string;
}

/** How a row differs from its product. */
export const rowKinds = [
  'spelling',
  'typos',
  'swapped words',
  'missing brand',
  'units',
  'more words',
  'near miss',
  'unrelated',
] as const;
export type RowKind = (typeof rowKinds)[number];

export interface AskedRow {
  kind: RowKind;
  brand: string | null;
  title: string;
  /** The SKU of the product that is meant; null: the catalogue does not have it. */
  answer: string | null;
}

const syllables = 'ka lo mi ru ta ven sol dor fin gra bel nor pex tri zu hal'.split(' ');
const things = (
  'espresso machine|garden hose|running shoe|desk lamp|phone case|water bottle|olive oil|face cream|power bank|' +
  'kitchen knife|memory card|office chair|rain jacket|wall paint|dog food|coffee beans|bike helmet|hair dryer|' +
  'usb cable|tool box|yoga mat|table fan|sun glasses|hand soap'
).split('|');
const colours = 'black white red blue green grey silver crème'.split(' ');
const traits = 'classic pro compact deluxe eco ultra soft heavy light premium original sport'.split(' ');
const measures = [
  ['128 GB', '256 GB', '512 GB'],
  ['250 ml', '500 ml', '1.5 l'],
  ['250 g', '500 g', '1 kg'],
  ['10 m', '20 m', '50 m'],
] as const;

/**
 * Half of the lines have a model number. Every third line comes in three sizes, and every third one in three colours:
 * such products differ in nothing else.
 */
export function makeProducts(count: number, seed = 7): Product[] {
  const dice = makeDice(seed);
  const brands = Array.from({ length: Math.max(20, Math.ceil(count / 100)) }, () => brandName(dice));
  const products: Product[] = [];
  const known = new Set<string>();
  while (products.length < count) {
    const brand = dice.oneOf(brands);
    for (const title of lineOf(dice)) {
      if (products.length === count || known.has(`${brand}|${title}`)) continue;
      known.add(`${brand}|${title}`);
      const sku = `${brand.slice(0, 3).toUpperCase()}-${String(products.length + 1).padStart(6, '0')}`;
      products.push({ sku, brand, title });
    }
  }
  return products;
}

/** The titles of products that belong together. */
function lineOf(dice: Dice): string[] {
  const name = `${dice.oneOf(syllables)}${dice.oneOf(syllables)}`;
  const model = dice.below(2) === 0 ? name : `${name} ${dice.letter().toUpperCase()}${dice.below(900) + 100}`;
  const words = `${dice.oneOf(traits)} ${dice.oneOf(things)} ${model}`;
  const sizes = dice.oneOf(measures);
  const first = dice.below(colours.length);
  const kind = dice.below(3);
  const shades =
    kind === 1 ? [0, 1, 2].map((step) => colours[(first + step) % colours.length]) : [colours[first]];
  const amounts = kind === 0 ? sizes : [dice.oneOf(sizes)];
  return shades.flatMap((colour) => amounts.map((size) => capitalised(`${words} ${colour} ${size}`)));
}

/** Rows in all kinds by turns. */
export function makeRows(products: readonly Product[], count: number, seed = 11): AskedRow[] {
  const dice = makeDice(seed);
  const known = new Set(products.map(({ brand, title }) => `${brand}|${title}`.toLowerCase()));
  return Array.from({ length: count }, (_, at) => {
    const kind = rowKinds[at % rowKinds.length] as RowKind;
    return askFor(kind, { dice, product: dice.oneOf(products), known });
  });
}

type Dice = ReturnType<typeof makeDice>;

function askFor(
  kind: RowKind,
  { dice, product, known }: { dice: Dice; product: Product; known: ReadonlySet<string> },
): AskedRow {
  const { brand, title, sku } = product;
  const row = { kind, brand, title, answer: sku };
  switch (kind) {
    case 'spelling':
      return { ...row, brand: brand.toUpperCase(), title: `${title.toUpperCase().replaceAll('È', 'E')} ` };
    case 'typos':
      return { ...row, title: withTypos(title, dice) };
    case 'swapped words':
      return { ...row, title: swapped(title, dice) };
    case 'missing brand':
      return { ...row, brand: null, title: dice.below(2) === 0 ? title : `${brand} ${title}` };
    case 'units':
      return { ...row, title: otherUnits(title) };
    case 'more words':
      return {
        ...row,
        title: `${title} ${dice.oneOf(['new', 'free shipping', 'best price', '- original packaging'])}`,
      };
    case 'near miss':
      return { ...row, title: nearMiss(product, dice, known), answer: null };
    case 'unrelated':
      return { ...row, title: `${brandName(dice)} ${brandName(dice)} ${dice.oneOf(things)}`, answer: null };
  }
}

/** One to three letters are lost, doubled or exchanged; not in words with digits, which would mean something else. */
function withTypos(title: string, dice: Dice): string {
  const words = title.split(' ');
  for (let left = 1 + dice.below(3); left > 0; left -= 1) {
    const long = words.flatMap((word, at) => (word.length > 3 && !/\d/.test(word) ? [at] : []));
    const at = dice.oneOf(long);
    const word = words[at] ?? '';
    const place = 1 + dice.below(word.length - 2);
    const [before, letter, after] = [word.slice(0, place), word.charAt(place), word.slice(place + 1)];
    words[at] = dice.oneOf([
      before + after,
      before + letter + letter + after,
      before + dice.letter() + after,
    ]);
  }
  return words.join(' ');
}

function swapped(title: string, dice: Dice): string {
  const words = title.split(' ');
  const size = words.splice(-2);
  const at = 1 + dice.below(words.length - 1);
  return [...words.slice(at), ...size, ...words.slice(0, at)].join(' ');
}

const sameAmounts: Record<string, string> = {
  '1.5 l': '1500ml',
  '1 kg': '1000 g',
  '500 ml': '0,5 L',
  '500 g': '0.5kg',
};

function otherUnits(title: string): string {
  for (const [one, other] of Object.entries(sameAmounts))
    if (title.endsWith(one)) return title.replace(one, other);
  return title.replace(/(\d) (\w+)$/, '$1$2');
}

/** A size, a model or a colour that the catalogue does not have. */
function nearMiss({ brand, title }: Product, dice: Dice, known: ReadonlySet<string>): string {
  for (;;) {
    const other = dice.oneOf([
      title.replace(/\d[\d.]*(?= \w+$)/, String(3 + dice.below(90))),
      title.replace(/(?<=[A-Z])\d{3}/, String(1000 + dice.below(9000))),
      title.replace(new RegExp(colours.join('|')), dice.oneOf(colours)),
    ]);
    if (!known.has(`${brand}|${other}`.toLowerCase())) return other;
  }
}

function brandName(dice: Dice): string {
  const name = `${dice.oneOf(syllables)}${dice.oneOf(syllables)}${dice.oneOf(syllables)}`;
  return capitalised(name);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A start tag; attribute names in lower case, values decoded, the first of two with one name counts. */
export interface HtmlTag {
  name: string;
  attributes: Map<string, string>;
}

/**
 * The start tags of these names, in order. It goes over the text once and builds no tree: a crawl reads the links of
 * every page on the thread that serves requests. A null now and then says that others should have a turn.
 */
export function* startTags(html: string, wanted: ReadonlySet<string>): Generator<HtmlTag | null> {
  let at = html.indexOf('<');
  let turnAt = unitsPerTurn;
  while (at !== -1) {
    if (at > turnAt) {
      turnAt = at + unitsPerTurn;
      yield null;
    }
    if (html.startsWith('<!--', at)) {
      const end = html.indexOf('-->', at + 2);
      if (end === -1) return;
      at = html.indexOf('<', end + 3);
      continue;
    }
    tagName.lastIndex = at + 1;
    const name = tagName.exec(html)?.[0].toLowerCase();
    if (name === undefined) {
      at = html.indexOf('<', at + 1);
      continue;
    }
    const tag = readAttributes(html, at + 1 + name.length, wanted.has(name));
    if (tag === null) return;
    if (tag.attributes !== null) yield { name, attributes: tag.attributes };
    const end = endOfRawText(html, name, tag.end);
    if (end === -1) return;
    at = html.indexOf('<', end);
  }
}

export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,6}));?/gi,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return named[name.toLowerCase()] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
        ? String.fromCodePoint(code)
        : '';
    },
  );
}

const named: Record<string, string | undefined> = {
  __proto__: null,
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
} as unknown as Record<string, string | undefined>;

const tagName = /[a-z][^\s/>]{0,100}/iy;
const attribute = /[\s/]*([^\s=>/]+)?(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/y;
const maxAttributes = 100;
/** Longer ones are text that somebody forgot to close. */
const maxTagUnits = 64 * 1024;
const unitsPerTurn = 64 * 1024;

/** Null when the text ends within the tag. */
function readAttributes(
  html: string,
  start: number,
  isWanted: boolean,
): { attributes: Map<string, string> | null; end: number } | null {
  const attributes = isWanted ? new Map<string, string>() : null;
  let at = start;
  while (at < html.length) {
    if (html[at] === '>') return { attributes, end: at + 1 };
    if (at - start > maxTagUnits) return { attributes, end: at };
    attribute.lastIndex = at;
    const found = attribute.exec(html);
    if (attributes !== null && found?.[1] !== undefined && attributes.size < maxAttributes) {
      const name = found[1].toLowerCase();
      const value = found[2] ?? found[3] ?? found[4] ?? '';
      if (!attributes.has(name)) attributes.set(name, decodeEntities(value));
    }
    at = Math.max(at + 1, attribute.lastIndex);
  }
  return null;
}

/** What looks like a tag in these is text. */
const rawEnds: Record<string, RegExp | undefined> = Object.assign(
  Object.create(null),
  Object.fromEntries(
    ['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes'].map((name) => [
      name,
      new RegExp(`</${name}`, 'gi'),
    ]),
  ),
);

function endOfRawText(html: string, name: string, from: number): number {
  const end = rawEnds[name];
  if (end === undefined) return from;
  end.lastIndex = from;
  return end.exec(html)?.index ?? -1;
}

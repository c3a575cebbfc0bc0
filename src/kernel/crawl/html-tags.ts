import { setImmediate } from 'node:timers/promises';
import { Tokenizer } from 'htmlparser2';

/** A start tag. Names are in lower case, values decoded; the first of two attributes with one name counts. */
export interface HtmlTag {
  name: string;
  attributes: Map<string, string>;
}

const maxAttributes = 100;
/** A crawl reads links on the thread that serves requests: after this much others get a turn of the event loop. */
const unitsPerTurn = 64 * 1024;
const ignore = () => {};

/**
 * Calls `take` for the start tags with these names, until it returns false. It takes the library's tokenizer and not
 * its parser, whose time grows with the square of the depth: a megabyte of `<div>` took 9.6 s.
 */
export async function readTags(
  html: string,
  wanted: ReadonlySet<string>,
  take: (tag: HtmlTag) => boolean,
): Promise<void> {
  let tag: HtmlTag | null = null;
  let name = '';
  let value = '';
  let isDone = false;
  const endTag = () => {
    if (tag !== null && !isDone) isDone = !take(tag);
    tag = null;
  };
  const options = { xmlMode: false, decodeEntities: true };
  const tokenizer = new Tokenizer(options, {
    onopentagname(start, end) {
      const found = html.slice(start, end).toLowerCase();
      tag = wanted.has(found) ? { name: found, attributes: new Map() } : null;
    },
    onattribname(start, end) {
      if (tag !== null) name = html.slice(start, end).toLowerCase();
      value = '';
    },
    onattribdata(start, end) {
      if (tag !== null) value += html.slice(start, end);
    },
    onattribentity(codePoint) {
      if (tag !== null) value += String.fromCodePoint(codePoint);
    },
    onattribend() {
      const attributes = tag?.attributes;
      if (attributes === undefined || attributes.size >= maxAttributes) return;
      if (!attributes.has(name)) attributes.set(name, value);
    },
    onopentagend: endTag,
    onselfclosingtag: endTag,
    onclosetag: ignore,
    oncdata: ignore,
    oncomment: ignore,
    ondeclaration: ignore,
    onprocessinginstruction: ignore,
    onend: ignore,
    ontext: ignore,
    ontextentity: ignore,
  });
  for (let at = 0; at < html.length && !isDone; at += unitsPerTurn) {
    if (at > 0) await setImmediate();
    tokenizer.write(html.slice(at, at + unitsPerTurn));
  }
}

import type { SluiceError } from '../errors.ts';

type Broken = (why: string) => SluiceError;

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** XML's five entities, and character references. Other entities would have to be declared, which is not allowed. */
export function decodeEntities(text: string, broken: Broken): string {
  return text.replace(/&([^;&]{0,31});?/g, (whole: string, name: string) => {
    const character = whole.endsWith(';') ? (entities[name] ?? byNumber(name)) : undefined;
    if (character === undefined)
      throw broken(`it has the unknown entity ${JSON.stringify(whole.slice(0, 20))}`);
    return character;
  });
}

/** As text or an attribute's value in XML and HTML. */
export function escapeMarkup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function byNumber(name: string): string | undefined {
  const digits = /^#(?:x([0-9a-fA-F]+)|(\d+))$/.exec(name);
  if (digits === null) return undefined;
  const code = digits[1] === undefined ? Number(digits[2]) : Number.parseInt(digits[1], 16);
  return isCharacter(code) ? String.fromCodePoint(code) : undefined;
}

/** The characters of XML 1.0: only three control characters, and no lone surrogates. */
function isCharacter(code: number): boolean {
  if (code < 0x20) return code === 9 || code === 10 || code === 13;
  return code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) || (code >= 0x10000 && code <= 0x10ffff);
}

/** A copy to keep: a substring would keep the whole longer text in memory. */
export function detached(text: string): string {
  return Buffer.from(text).toString();
}

/** The name of an element or an attribute, with its prefix and without. */
export interface KnownName {
  full: string;
  local: string;
}

const wellFormedName = /^[:_\p{L}][-.:_\u00b7\p{L}\p{N}\p{M}]*$/u;
const mostNames = 2_000;

/** Checks each name once: a sheet has a dozen names, a million times. */
export class XmlNames {
  readonly #known = new Map<string, KnownName>();
  readonly #broken: Broken;

  constructor(broken: Broken) {
    this.#broken = broken;
  }

  get(full: string): KnownName {
    const known = this.#known.get(full);
    if (known !== undefined) return known;
    if (!wellFormedName.test(full)) throw this.#broken(`${JSON.stringify(full.slice(0, 40))} is no name`);
    const kept = detached(full);
    const name = { full: kept, local: kept.slice(kept.indexOf(':') + 1) };
    if (this.#known.size === mostNames) this.#known.clear();
    this.#known.set(full, name);
    return name;
  }
}

export interface ScrubberOptions {
  /**
   * A very short "secret" is in half of all words: replacing it anywhere would garble every line and hide nothing.
   * `as words` replaces it where it stands alone; `never` leaves it.
   */
  shortOnes?: 'never' | 'as words';
}

/**
 * Replaces registered secret values in any text, in every spelling that programs commonly give them. It is for a few
 * secrets at a time; fields with telling names are the log's own business.
 */
export class SecretScrubber {
  readonly #forms = new Set<string>();
  readonly #words = new Set<string>();
  readonly #takesShortOnes: boolean;
  #pattern: RegExp | null = null;

  constructor(values: Iterable<string> = [], { shortOnes = 'never' }: ScrubberOptions = {}) {
    this.#takesShortOnes = shortOnes === 'as words';
    this.register(values);
  }

  register(values: Iterable<string>): void {
    for (const value of values) {
      if (value.length >= minLength) for (const form of spellingsOf(value)) this.#forms.add(form);
      else if (this.#takesShortOnes && value.length >= minWordLength) this.#words.add(value);
    }
    const forms = longestFirst(this.#forms).map(escapeForPattern);
    const words = longestFirst(this.#words).map((word) => `(?<!\\w)${escapeForPattern(word)}(?!\\w)`);
    const all = [...forms, ...words];
    this.#pattern = all.length === 0 ? null : new RegExp(all.join('|'), 'g');
  }

  scrub(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, replacement);
  }

  isIn(text: string): boolean {
    return this.#pattern !== null && text.search(this.#pattern) >= 0;
  }

  /** A JSON value without the secrets in its texts, keys and numbers; the same value if there are none. */
  scrubValue(value: unknown): unknown {
    if (this.#pattern === null || value === undefined) return value;
    // Most values hold no secret, and one search through their text is quicker than a walk.
    return this.isIn(JSON.stringify(value) ?? '') ? this.#scrubbed(value, 0) : value;
  }

  #scrubbed(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.scrub(value);
    if (typeof value === 'number') return this.isIn(String(value)) ? replacement : value;
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= maxDepth) return replacement;
    if (Array.isArray(value)) return value.map((each) => this.#scrubbed(each, depth + 1));
    const members = Object.entries(value).map(([key, each]) => [
      this.scrub(key),
      this.#scrubbed(each, depth + 1),
    ]);
    return Object.fromEntries(members);
  }
}

const replacement = '[redacted]';
const minLength = 6;
const minWordLength = 3;
/** Deeper than any result that is stored. */
const maxDepth = 1_000;

function spellingsOf(value: string): string[] {
  return [value, ...base64Of(Buffer.from(value))].flatMap(encodingsOf);
}

/**
 * Base64 of the value alone, and the part of a longer base64 text that only the value decides: a basic auth pair holds
 * the password at any of three offsets.
 */
function base64Of(bytes: Buffer): string[] {
  const inside = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const firstOwn = Math.ceil((offset * 8) / 6);
    const ownEnd = Math.floor(((offset + bytes.length) * 8) / 6);
    return text.slice(firstOwn, ownEnd);
  });
  const texts = [bytes.toString('base64'), ...inside].filter((text) => text.length >= minLength);
  return [...texts, ...texts.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** As it is, and as it stands in JSON, in JSON inside JSON, in a URL, in a form and in HTML. */
function encodingsOf(text: string): string[] {
  const inJson = jsonOf(text);
  const inAscii = inJson.replace(/[^\x20-\x7e]/g, (unit) => `\\u${hexOf(unit)}`);
  const json = [inJson, inAscii].flatMap((each) => [each, each.replaceAll('/', '\\/')]);
  // Through a buffer, because a lone surrogate has no encoding and would throw.
  const inUrl = encodeURIComponent(Buffer.from(text).toString());
  const strict = inUrl.replace(/[!'()*~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const urls = [inUrl, strict, strict.replaceAll('%20', '+'), inUrl.replaceAll('%20', '+')];
  const lower = urls.map((each) => each.replace(/%../g, (code) => code.toLowerCase()));
  return [text, ...json, ...json.map(jsonOf), ...urls, ...lower, ...htmlOf(text)];
}

function jsonOf(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function hexOf(unit: string): string {
  return unit.charCodeAt(0).toString(16).padStart(4, '0');
}

function htmlOf(text: string): string[] {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = escaped.replaceAll('"', '&quot;');
  return [escaped, quoted, quoted.replaceAll("'", '&#39;'), quoted.replaceAll("'", '&#x27;')];
}

function longestFirst(texts: Iterable<string>): string[] {
  return [...texts].sort((a, b) => b.length - a.length);
}

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/**
 * Replaces registered secret values in any text. It is for the few secrets of an installation, whose number is
 * bounded by the settings; fields with telling names are the log's own business.
 */
export class SecretScrubber {
  readonly #forms = new Set<string>();
  #pattern: RegExp | null = null;

  constructor(values: Iterable<string> = []) {
    this.register(values);
  }

  register(values: Iterable<string>): void {
    for (const value of values) {
      // A very short "secret" is in half of all words: replacing it would garble every line and hide nothing.
      if (value.length < minLength) continue;
      for (const form of spellingsOf(value)) this.#forms.add(form);
    }
    const longestFirst = [...this.#forms].sort((a, b) => b.length - a.length);
    this.#pattern =
      longestFirst.length === 0 ? null : new RegExp(longestFirst.map(escapeForPattern).join('|'), 'g');
  }

  scrub(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, replacement);
  }
}

const replacement = '[redacted]';
const minLength = 6;

/** As it is, inside JSON, inside JSON that is itself a string of JSON, and inside a URL. */
function spellingsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  // Through a buffer, because a lone surrogate has no encoding and would throw.
  const inUrl = encodeURIComponent(Buffer.from(value).toString());
  return [value, inJson, JSON.stringify(inJson).slice(1, -1), inUrl, inUrl.replaceAll('%20', '+')];
}

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

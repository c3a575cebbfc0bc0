/** Front matter is short; what is longer is text between two rules. */
const maxUnits = 16 * 1024;

export interface FrontMatter {
  fields: Record<string, unknown>;
  /** Length of the block in the text, with its rules. */
  units: number;
}

/**
 * Reads the block between `---` lines at the start of a Markdown file: the part of YAML that people write there. Plain
 * and quoted values, lists in both forms, fields one level below another, and block texts. Null if there is none.
 */
export function readFrontMatter(text: string): FrontMatter | null {
  const block = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\r?\n|$)/.exec(text.slice(0, maxUnits));
  if (block === null) return null;
  const lines = (block[1] ?? '').split(/\r?\n/).filter((line) => !/^\s*(?:#|$)/.test(line));
  return { fields: readFields(lines), units: block[0].length };
}

const fieldLine = /^(\s*)("[^"]*"\s*|'[^']*'\s*|[^\s:#'"[\]{},-][^:]*):(?:\s(.*))?$/;

function readFields(lines: readonly string[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (let at = 0; at < lines.length; ) {
    const [, indent = '', name = '', rest = ''] = fieldLine.exec(lines[at] ?? '') ?? [];
    at += 1;
    if (name === '') continue;
    const below: string[] = [];
    while (at < lines.length && isBelow(lines[at] ?? '', indent.length)) below.push(lines[at++] ?? '');
    fields[String(readScalar(name.trimEnd()))] = readValue(rest.trim(), below);
  }
  return fields;
}

/** A list may stand at the same indent as its field. */
function isBelow(line: string, indent: number): boolean {
  const own = line.length - line.trimStart().length;
  return own > indent || (own === indent && /^\s*- /.test(line));
}

function readValue(rest: string, below: readonly string[]): unknown {
  if (/^[|>][+-]?$/.test(rest)) {
    const texts = below.map((line) => line.trim());
    return texts.join(rest.startsWith('|') ? '\n' : ' ');
  }
  if (rest !== '' && !rest.startsWith('#')) return readInline(rest);
  if (below.every((line) => /^\s*-(?:\s|$)/.test(line)) && below.length > 0) {
    return below.map((line) => readInline(line.replace(/^\s*-\s*/, '')));
  }
  return below.length > 0 ? readFields(below) : null;
}

function readInline(text: string): unknown {
  const list = /^\[(.*)\]\s*(?:#.*)?$/.exec(text);
  if (list === null) return readScalar(text);
  const parts = (list[1] ?? '').match(/\s*"(?:[^"\\]|\\.)*"|\s*'[^']*'|[^,]+/g) ?? [];
  return parts.map((part) => readScalar(part.trim())).filter((value) => value !== '');
}

function readScalar(text: string): unknown {
  const quoted = /^"((?:[^"\\]|\\.)*)"|^'((?:[^']|'')*)'/.exec(text);
  if (quoted?.[1] !== undefined) return quoted[1].replace(/\\(["\\/])/g, '$1').replaceAll('\\n', '\n');
  if (quoted?.[2] !== undefined) return quoted[2].replaceAll("''", "'");
  const plain = text.replace(/(?<!\s)\s+#.*$/, '').trim();
  if (/^(?:true|false)$/i.test(plain)) return plain.toLowerCase() === 'true';
  if (/^(?:null|~)$/i.test(plain)) return null;
  // Numbers with leading zeros are codes.
  if (/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(plain)) return Number(plain);
  return plain;
}

const headBytes = 64 * 1024;

/** The column names in the beginning of a file. Only suggestions: the server reads the file. */
export async function readFileColumns(file: Blob): Promise<string[]> {
  const head = await file.slice(0, headBytes).text();
  return columnsOf(head.replace(/^\uFEFF/, ''));
}

export function columnsOf(head: string): string[] {
  // A workbook is an archive: its bytes read as text are not names.
  if (head.startsWith('PK\u0003\u0004')) return [];
  const start = head.trimStart();
  if (/^[[{]/.test(start)) return keysOf(firstObject(start));
  const line = start.split(/\r?\n/, 1)[0] ?? '';
  const delimiter = ['\t', ';', '|', ','].find((candidate) => line.includes(candidate)) ?? ',';
  return splitLine(line, delimiter).filter((name) => name !== '');
}

function splitLine(line: string, delimiter: string): string[] {
  const names: string[] = [];
  let name = '';
  let isQuoted = false;
  for (const character of line) {
    if (character === '"') isQuoted = !isQuoted;
    else if (character === delimiter && !isQuoted) {
      names.push(name.trim());
      name = '';
    } else name += character;
  }
  return [...names, name.trim()];
}

function keysOf(text: string): string[] {
  try {
    return Object.keys(JSON.parse(text) as object);
  } catch {
    return [];
  }
}

/** From the first brace to the one that closes it. */
function firstObject(text: string): string {
  const start = text.indexOf('{');
  let depth = 0;
  let isText = false;
  for (let at = start; at >= 0 && at < text.length; at += 1) {
    const character = text[at];
    if (isText && character === '\\') at += 1;
    else if (character === '"') isText = !isText;
    else if (!isText && character === '{') depth += 1;
    else if (!isText && character === '}') {
      depth -= 1;
      if (depth === 0) return text.slice(start, at + 1);
    }
  }
  return '';
}

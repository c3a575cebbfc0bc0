import { StringDecoder } from 'node:string_decoder';
import sax from 'sax';
import { messageOf } from '../../../lib/errors.ts';
import { documentErrors } from './errors.ts';

export interface XmlEvents {
  open(name: string, attributes: XmlAttributes): void;
  close(name: string): void;
  text?(text: string): void;
}

/** Attributes by their local names: writers choose prefixes as they like. */
export type XmlAttributes = (name: string) => string | null;

const maxDepth = 5_000;

/** Reads a part as a stream; names come without their prefix. */
export async function readXml(
  pieces: AsyncIterable<Buffer>,
  { events, onProgress }: { events: XmlEvents; onProgress(): void },
): Promise<void> {
  const parser = sax.parser(true, { position: false });
  let depth = 0;
  parser.onopentag = ({ name, attributes }) => {
    depth += 1;
    if (depth > maxDepth) throw broken('its elements are nested too deeply');
    events.open(localName(name), (wanted) => findAttribute(attributes as Record<string, string>, wanted));
  };
  parser.onclosetag = (name) => {
    depth -= 1;
    events.close(localName(name));
  };
  parser.ontext = (text) => events.text?.(text);
  parser.oncdata = (text) => events.text?.(text);
  // Office writes no document type; whoever does is after the reader's entities.
  parser.ondoctype = () => {
    throw broken('it declares a document type');
  };
  parser.onerror = (error) => {
    throw broken(messageOf(error).split('\n')[0] ?? '');
  };
  let decoder: StringDecoder | undefined;
  for await (const piece of pieces) {
    decoder ??= new StringDecoder(encodingOf(piece));
    parser.write(decoder.write(piece));
    onProgress();
  }
  parser.close();
}

/** XML is UTF-8 unless it begins with the mark of UTF-16. */
function encodingOf(start: Buffer): 'utf8' | 'utf16le' {
  return start[0] === 0xff && start[1] === 0xfe ? 'utf16le' : 'utf8';
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function findAttribute(attributes: Record<string, string>, wanted: string): string | null {
  for (const [name, value] of Object.entries(attributes)) {
    if (localName(name) === wanted) return value;
  }
  return null;
}

function broken(why: string) {
  return documentErrors.raise.docx_is_broken(`One of its parts is not readable XML: ${why}`);
}

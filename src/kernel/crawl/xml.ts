import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import sax from 'sax';
import { ByteSource } from '../../lib/formats/byte-source.ts';

/** Receives the parts of an XML document; names are in lower case, with prefixes. */
export interface XmlReader {
  open(name: string, attributes: Record<string, string>): void;
  /** May come in several pieces; entities are decoded, CDATA counts as text. */
  text(text: string): void;
  close(name: string): void;
  /** True when the rest need not be read. */
  isDone(): boolean;
}

export type XmlOutcome = 'whole' | 'stopped' | 'cut_off' | 'too_large' | 'broken';

/**
 * Reads XML from the web: possibly sloppy, gzipped, malicious or in any encoding. Declared entities are not expanded
 * and nothing external is loaded; depth and size are limited.
 */
export async function readXml(
  source: AsyncIterable<Uint8Array>,
  options: { contentType?: string; reader: XmlReader; maxBytes: number },
): Promise<XmlOutcome> {
  const { reader, maxBytes } = options;
  const parsing = parse(reader);
  let seenBytes = 0;
  try {
    const raw = new ByteSource(source, pieceBytes);
    const plain = new ByteSource(inflated(raw), pieceBytes);
    const decoder = new TextDecoder(encodingOf(await plain.peek(startBytes), options.contentType));
    for await (const piece of plain) {
      seenBytes += piece.length;
      if (seenBytes > maxBytes) return 'too_large';
      parsing.write(decoder.decode(piece, { stream: true }));
      if (parsing.isBroken()) return 'broken';
      if (reader.isDone()) return 'stopped';
    }
  } catch (error) {
    if (isGzipError(error)) return 'broken';
    throw error;
  }
  return parsing.isClosed() ? 'whole' : 'cut_off';
}

const pieceBytes = 16 * 1024;
/** The XML declaration is within these bytes. */
const startBytes = 300;
const maxDepth = 100;

function parse(reader: XmlReader) {
  const parser = sax.parser(false, { lowercase: true, noscript: true, position: false });
  let depth = 0;
  let hasClosed = false;
  let isBroken = false;
  parser.onerror = () => {
    isBroken = true;
  };
  parser.onopentag = ({ name, attributes }) => {
    depth += 1;
    if (depth > maxDepth) isBroken = true;
    if (!isBroken && !reader.isDone()) reader.open(name, attributes as Record<string, string>);
  };
  parser.onclosetag = (name) => {
    depth -= 1;
    if (depth === 0) hasClosed = true;
    if (!isBroken && !reader.isDone()) reader.close(name);
  };
  const onText = (text: string) => {
    if (!isBroken && !reader.isDone()) reader.text(text);
  };
  parser.ontext = onText;
  parser.oncdata = onText;
  return {
    write(text: string) {
      if (!isBroken) parser.write(text);
    },
    isBroken: () => isBroken,
    isClosed: () => hasClosed,
  };
}

async function* inflated(bytes: ByteSource): AsyncGenerator<Uint8Array> {
  const [a, b] = await bytes.peek(2);
  if (a !== 0x1f || b !== 0x8b) return yield* bytes;
  const gunzip = createGunzip();
  // An error of any part reaches the reader of the last stream.
  pipeline(Readable.from(bytes), gunzip, () => {});
  yield* gunzip;
}

function isGzipError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));
}

function encodingOf(start: Uint8Array, contentType: string | undefined): string {
  const [a, b] = start;
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  const declared =
    /charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType ?? '')?.[1] ??
    /^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w:.-]+)/i.exec(Buffer.from(start).toString('latin1'))?.[1];
  return declared !== undefined && isEncoding(declared) ? declared : 'utf-8';
}

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

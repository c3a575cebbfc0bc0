import { deflateSync } from 'node:zlib';

export interface PdfLineSpec {
  text: string;
  size?: number;
  y?: number;
  x?: number;
}

export interface PdfSpec {
  /** Lines of each page, from top to bottom; a page without lines has none. */
  pages: (string | PdfLineSpec)[][];
  title?: string;
  isCompressed?: boolean;
  /** Locked with a password that nobody knows. */
  isEncrypted?: boolean;
  /** A JPEG that each page without lines consists of: a scan. */
  scan?: { jpeg: Buffer; width: number; height: number };
  /** Bytes of the first page's content before it is compressed, in place of its lines. */
  content?: Buffer;
}

/** A small PDF: Helvetica, one text object per line, a table of places at the end. */
export function pdfDocument(spec: PdfSpec): Buffer {
  const objects: Buffer[] = [];
  const add = (body: string | Buffer): number => objects.push(Buffer.from(body));
  const first = 4;
  const pageIds = spec.pages.map((_, at) => first + at * 2);
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] /Count ${pageIds.length} >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>');
  spec.pages.forEach((lines, at) => {
    const isScan = spec.scan !== undefined && lines.length === 0;
    const scanId = first + spec.pages.length * 2;
    const images = isScan ? `/XObject << /Im1 ${scanId} 0 R >> ` : '';
    const resources = `/Resources << ${images}/Font << /F1 3 0 R >> >>`;
    add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] ${resources} /Contents ${first + at * 2 + 1} 0 R >>`,
    );
    const given = isScan ? Buffer.from('q 612 0 0 792 0 0 cm /Im1 Do Q') : contentOf(lines);
    const content = at === 0 && spec.content !== undefined ? spec.content : given;
    add(streamOf(content, spec.isCompressed ?? false));
  });
  if (spec.scan !== undefined) {
    const { jpeg, width, height } = spec.scan;
    const head = `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceGray`;
    const stream = ` /BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>\nstream\n`;
    add(Buffer.concat([Buffer.from(head + stream), jpeg, Buffer.from('\nendstream')]));
  }
  const trailer = [
    `/Size ${objects.length + 1}`,
    '/Root 1 0 R',
    `/ID [<${'ab'.repeat(16)}> <${'ab'.repeat(16)}>]`,
  ];
  if (spec.title !== undefined) trailer.push(`/Info << /Title (${escaped(spec.title)}) >>`);
  if (spec.isEncrypted) trailer.push(encryption());
  return assemble(objects, trailer.join(' '));
}

function contentOf(lines: (string | PdfLineSpec)[]): Buffer {
  let y = 740;
  const parts = lines.map((line) => {
    const {
      text,
      size = 11,
      y: place,
      x = 72,
    } = typeof line === 'string' ? ({ text: line } as PdfLineSpec) : line;
    y = place ?? y - size * 1.3;
    return `BT /F1 ${size} Tf ${x} ${y.toFixed(1)} Td (${escaped(text)}) Tj ET`;
  });
  return Buffer.from(parts.join('\n'), 'latin1');
}

function streamOf(content: Buffer, isCompressed: boolean): Buffer {
  const body = isCompressed ? deflateSync(content) : content;
  const filter = isCompressed ? ' /Filter /FlateDecode' : '';
  return Buffer.concat([
    Buffer.from(`<< /Length ${body.length}${filter} >>\nstream\n`),
    body,
    Buffer.from('\nendstream'),
  ]);
}

function encryption(): string {
  const value = (byte: string) => `<${byte.repeat(32)}>`;
  return `/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O ${value('5a')} /U ${value('c3')} >>`;
}

function escaped(text: string): string {
  return text.replace(/[\\()]/g, '\\$&');
}

function assemble(objects: readonly Buffer[], trailer: string): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  let offset = parts[0]?.length ?? 0;
  const offsets = objects.map((body, at) => {
    const place = offset;
    const object = Buffer.concat([Buffer.from(`${at + 1} 0 obj\n`), body, Buffer.from('\nendobj\n')]);
    parts.push(object);
    offset += object.length;
    return place;
  });
  const rows = offsets.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`;
  parts.push(Buffer.from(`${table}trailer\n<< ${trailer} >>\nstartxref\n${offset}\n%%EOF\n`));
  return Buffer.concat(parts);
}

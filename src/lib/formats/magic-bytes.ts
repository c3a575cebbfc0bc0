interface Signature {
  /** Completes "The file is …". */
  what: string;
  /** In hexadecimal; `..` stands for any byte. */
  bytes: string;
}

const signatures: Signature[] = [
  { what: 'a gzip archive', bytes: '1f8b' },
  { what: 'a PDF document', bytes: '255044462d' },
  { what: 'a PNG image', bytes: '89504e470d0a1a0a' },
  { what: 'a JPEG image', bytes: 'ffd8ff' },
  { what: 'a GIF image', bytes: '47494638..61' },
  { what: 'a WebP image', bytes: '52494646........57454250' },
  { what: 'a BMP image', bytes: '424d........00000000' },
  { what: 'a TIFF image', bytes: '49492a00' },
  { what: 'a TIFF image', bytes: '4d4d002a' },
  { what: 'an HEIF or AVIF image or an MP4 video', bytes: '000000..66747970' },
  { what: 'an old Excel or Word document (XLS, DOC)', bytes: 'd0cf11e0a1b11ae1' },
  { what: 'a 7z archive', bytes: '377abcaf271c' },
  { what: 'a RAR archive', bytes: '526172211a07' },
  { what: 'a Zstandard archive', bytes: '28b52ffd' },
  { what: 'a bzip2 archive', bytes: '425a68..314159265359' },
  { what: 'an xz archive', bytes: 'fd377a585a00' },
  { what: 'a Parquet file', bytes: '5041523115' },
  { what: 'an Avro file', bytes: '4f626a01' },
  { what: 'a SQLite database', bytes: '53514c69746520666f726d6174203300' },
  { what: 'a program (ELF)', bytes: '7f454c46' },
  { what: 'UTF-32 text', bytes: 'fffe0000' },
  { what: 'UTF-32 text', bytes: '0000feff' },
];

const zip = ['504b0304', '504b0506', '504b0708'];

/** What kind of binary file begins like this; null when it may be text. */
export function recogniseBinary(start: Buffer): string | null {
  const hex = start.toString('hex', 0, 16);
  if (isZip(start)) return recogniseZip(start);
  const known = signatures.find(({ bytes }) => begins(hex, bytes));
  return known?.what ?? null;
}

/** A ZIP archive, or a document in the form of one: only its directory, at its end, tells which. */
export function isZip(start: Buffer): boolean {
  const hex = start.toString('hex', 0, 4);
  return zip.some((bytes) => hex.startsWith(bytes));
}

/** The form of Office documents before 2007, and of newer ones that are protected by a password. */
export function isCompoundFile(start: Buffer): boolean {
  return start.toString('hex', 0, 8) === 'd0cf11e0a1b11ae1';
}

/** Office documents are ZIP archives; the names of their first parts tell them apart. */
function recogniseZip(start: Buffer): string {
  const names = start.toString('latin1');
  if (names.includes('xl/')) return 'an Excel workbook (XLSX)';
  if (names.includes('word/')) return 'a Word document (DOCX)';
  return names.includes('[Content_Types].xml') ? 'an Office document, perhaps XLSX' : 'a ZIP archive';
}

function begins(hex: string, signature: string): boolean {
  if (hex.length < signature.length) return false;
  for (let at = 0; at < signature.length; at += 1) {
    if (signature[at] !== '.' && signature[at] !== hex[at]) return false;
  }
  return true;
}

import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of a ZIP archive; all of its headers may be false. */
export interface StoredEntry {
  name: string;
  content: string | Buffer;
  /** Stored without compression. */
  isStored?: boolean;
  packed?: Buffer;
  method?: number;
  flags?: number;
  crc?: number;
  statedBytes?: number;
  /** The directory points to the bytes of the archive's first entry. */
  sharesFirst?: boolean;
}

/** A ZIP archive, written by hand: a normal writer cannot make hostile archives. */
export function zipOf(entries: readonly StoredEntry[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const content = Buffer.from(entry.content);
    const packed = entry.packed ?? (entry.isStored ? content : deflateRawSync(content));
    const fields = fieldsOf(entry, { content, packed });
    directory.push(directoryRecord(entry.name, fields, entry.sharesFirst ? 0 : offset));
    if (entry.sharesFirst) continue;
    const head = Buffer.concat([
      Buffer.from('PK\x03\x04'),
      fields,
      lengthsOf(entry.name),
      Buffer.from(entry.name),
    ]);
    pieces.push(head, packed);
    offset += head.length + packed.length;
  }
  const list = Buffer.concat(directory);
  return Buffer.concat([...pieces, list, endOf({ count: entries.length, listBytes: list.length, offset })]);
}

/** The end of the archive, preceded by the longer form of it where two bytes cannot hold the count. */
function endOf({ count, listBytes, offset }: { count: number; listBytes: number; offset: number }): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Math.min(count, 0xffff), 8);
  end.writeUInt16LE(Math.min(count, 0xffff), 10);
  end.writeUInt32LE(listBytes, 12);
  end.writeUInt32LE(offset, 16);
  if (count < 0xffff) return end;
  const long = Buffer.alloc(56);
  long.writeUInt32LE(0x06064b50, 0);
  long.writeBigUInt64LE(44n, 4);
  long.writeBigUInt64LE(BigInt(count), 24);
  long.writeBigUInt64LE(BigInt(count), 32);
  long.writeBigUInt64LE(BigInt(listBytes), 40);
  long.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + listBytes), 8);
  return Buffer.concat([long, locator, end]);
}

/** What the head of an entry and its record in the directory have in common. */
function fieldsOf(entry: StoredEntry, { content, packed }: { content: Buffer; packed: Buffer }): Buffer {
  const fields = Buffer.alloc(22);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(entry.flags ?? 0, 2);
  fields.writeUInt16LE(entry.method ?? (entry.isStored ? 0 : 8), 4);
  fields.writeUInt32LE((entry.crc ?? crc32(content)) >>> 0, 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(entry.statedBytes ?? content.length, 18);
  return fields;
}

function lengthsOf(name: string): Buffer {
  const lengths = Buffer.alloc(4);
  lengths.writeUInt16LE(Buffer.byteLength(name), 0);
  return lengths;
}

function directoryRecord(name: string, fields: Buffer, offset: number): Buffer {
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(offset, 10);
  return Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), fields, lengthsOf(name), rest, Buffer.from(name)]);
}

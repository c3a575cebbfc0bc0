/**
 * The records of a ZIP archive, by the names and sections of PKWARE's APPNOTE. ZIP64 forms are used only where a
 * number does not fit: some spreadsheet programs refuse archives that use them without need.
 */
export interface EntryRecord {
  readonly name: Uint8Array;
  /** Where the entry's header begins. */
  readonly offset: number;
  /** Sizes and checksum follow the bytes instead of standing in the header. */
  readonly isStreamed: boolean;
  crc: number;
  sizeBytes: number;
  storedBytes: number;
}

const deflateMethod = 8;
const utf8Names = 0x0800;
const sizesFollow = 0x0008;
const version20 = 20;
const version45 = 45;
/** 1 January 1980: two exports of the same rows are the same bytes. */
const dosDate = 0x0021;
const full16 = 0xffff;
const full32 = 0xffffffff;

export function needs64({ sizeBytes, storedBytes }: EntryRecord, zip64From: number): boolean {
  return sizeBytes >= zip64From || storedBytes >= zip64From;
}

/** 4.3.7 Local file header. */
export function fileHeader(entry: EntryRecord): Uint8Array {
  const header = Buffer.alloc(30 + entry.name.length);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(version20, 4);
  writeShared(header, 6, entry);
  header.writeUInt32LE(entry.storedBytes, 18);
  header.writeUInt32LE(entry.sizeBytes, 22);
  header.writeUInt16LE(entry.name.length, 26);
  header.set(entry.name, 30);
  return header;
}

/** 4.3.9 Data descriptor. */
export function dataDescriptor(entry: EntryRecord, is64: boolean): Uint8Array {
  const record = Buffer.alloc(is64 ? 24 : 16);
  record.writeUInt32LE(0x08074b50, 0);
  record.writeUInt32LE(entry.crc, 4);
  if (is64) {
    record.writeBigUInt64LE(BigInt(entry.storedBytes), 8);
    record.writeBigUInt64LE(BigInt(entry.sizeBytes), 16);
  } else {
    record.writeUInt32LE(entry.storedBytes, 8);
    record.writeUInt32LE(entry.sizeBytes, 12);
  }
  return record;
}

export interface DirectoryPlace {
  offset: number;
  zip64From: number;
}

/** 4.3.12 Central directory structure with the records that end the archive. */
export function centralDirectory(entries: readonly EntryRecord[], place: DirectoryPlace): Uint8Array {
  const headers = entries.map((entry) => directoryHeader(entry, place.zip64From));
  const sizeBytes = headers.reduce((sum, header) => sum + header.length, 0);
  const is64 = place.offset >= place.zip64From || sizeBytes >= place.zip64From || entries.length >= full16;
  const table = { offset: place.offset, sizeBytes, count: entries.length };
  return Buffer.concat([...headers, ...(is64 ? [endRecord64(table)] : []), endRecord(table, is64)]);
}

function directoryHeader(entry: EntryRecord, zip64From: number): Uint8Array {
  const is64 = needs64(entry, zip64From) || entry.offset >= zip64From;
  const extra = is64 ? extra64(entry) : Buffer.alloc(0);
  const header = Buffer.alloc(46 + entry.name.length + extra.length);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(is64 ? version45 : version20, 4);
  header.writeUInt16LE(is64 ? version45 : version20, 6);
  writeShared(header, 8, entry);
  header.writeUInt32LE(is64 ? full32 : entry.storedBytes, 20);
  header.writeUInt32LE(is64 ? full32 : entry.sizeBytes, 24);
  header.writeUInt16LE(entry.name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(is64 ? full32 : entry.offset, 42);
  header.set(entry.name, 46);
  header.set(extra, 46 + entry.name.length);
  return header;
}

/** Flags, method, time, date and checksum stand in the same order in both kinds of header. */
function writeShared(header: Buffer, at: number, entry: EntryRecord): void {
  header.writeUInt16LE(utf8Names | (entry.isStreamed ? sizesFollow : 0), at);
  header.writeUInt16LE(deflateMethod, at + 2);
  header.writeUInt16LE(0, at + 4);
  header.writeUInt16LE(dosDate, at + 6);
  header.writeUInt32LE(entry.crc, at + 8);
}

/** 4.5.3 Zip64 extended information: size, stored size, offset. */
function extra64(entry: EntryRecord): Buffer {
  const extra = Buffer.alloc(28);
  extra.writeUInt16LE(0x0001, 0);
  extra.writeUInt16LE(24, 2);
  extra.writeBigUInt64LE(BigInt(entry.sizeBytes), 4);
  extra.writeBigUInt64LE(BigInt(entry.storedBytes), 12);
  extra.writeBigUInt64LE(BigInt(entry.offset), 20);
  return extra;
}

interface DirectoryTable {
  offset: number;
  sizeBytes: number;
  count: number;
}

/** 4.3.14 Zip64 end of central directory record, and 4.3.15 its locator. */
function endRecord64({ offset, sizeBytes, count }: DirectoryTable): Uint8Array {
  const record = Buffer.alloc(56 + 20);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(version45, 12);
  record.writeUInt16LE(version45, 14);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(sizeBytes), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  record.writeUInt32LE(0x07064b50, 56);
  record.writeBigUInt64LE(BigInt(offset + sizeBytes), 64);
  record.writeUInt32LE(1, 72);
  return record;
}

/** 4.3.16 End of central directory record. */
function endRecord({ offset, sizeBytes, count }: DirectoryTable, is64: boolean): Uint8Array {
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(is64 ? full16 : count, 8);
  record.writeUInt16LE(is64 ? full16 : count, 10);
  record.writeUInt32LE(is64 ? full32 : sizeBytes, 12);
  record.writeUInt32LE(is64 ? full32 : offset, 16);
  return record;
}

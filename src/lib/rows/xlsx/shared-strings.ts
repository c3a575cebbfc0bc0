import { openTemporary, type TemporaryFile } from '../../formats/spool.ts';
import type { XmlEvents } from '../../formats/xml.ts';
import { detached } from '../../formats/xml-text.ts';
import { readerErrors } from '../errors.ts';

/** Texts of an ordinary workbook stay in memory; the rest goes to a file and is read back when a cell needs it. */
const memoryUnits = 4 * 1024 * 1024;
/** Texts in the file are found by group: only one number per group stays in memory. */
const groupSize = 16;
const cachedUnits = 4 * 1024 * 1024;
const flushBytes = 256 * 1024;
/** Each entry costs some memory, however short its text is. */
const unitsPerText = 16;

/** The texts that cells refer to by number. Memory stays flat, however many there are. */
export class SharedStrings {
  readonly #inMemory: string[] = [];
  readonly #groupStarts: number[] = [];
  readonly #cache = new Map<number, string[]>();
  #memoryLeft = memoryUnits;
  #cachedUnits = 0;
  #count = 0;
  #longestUnits = 0;
  #file: TemporaryFile | null = null;
  /** Whole pieces, and one that is being filled. */
  #unwritten: Buffer[] = [];
  #piece: Buffer = Buffer.alloc(0);
  #pieceBytes = 0;
  #unwrittenBytes = 0;
  #fileBytes = 0;

  get count(): number {
    return this.#count;
  }

  get longestUnits(): number {
    return this.#longestUnits;
  }

  add(text: string): void {
    this.#longestUnits = Math.max(this.#longestUnits, text.length);
    this.#memoryLeft -= text.length + unitsPerText;
    if (this.#memoryLeft >= 0) this.#inMemory.push(detached(text));
    else this.#putAway(text);
    this.#count += 1;
  }

  /** Must be awaited between pieces while texts are added, and once after the last one. */
  async flush(isLast = false): Promise<void> {
    if (this.#unwrittenBytes === 0 || (!isLast && this.#unwrittenBytes < flushBytes)) return;
    this.#file ??= await openTemporary();
    this.#endPiece(0);
    const bytes = Buffer.concat(this.#unwritten, this.#unwrittenBytes);
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    await this.#file.append(bytes);
  }

  /** Null when there is no such text. */
  find(index: number): string | null {
    if (index < this.#inMemory.length) return this.#inMemory[index] ?? null;
    const at = index - this.#inMemory.length;
    if (!Number.isInteger(at) || index >= this.#count) return null;
    return this.#groupOf(Math.floor(at / groupSize))[at % groupSize] ?? null;
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  #putAway(text: string): void {
    // Once one text is in the file, all later ones are: a text's position follows from its number.
    this.#memoryLeft = -1;
    if ((this.#count - this.#inMemory.length) % groupSize === 0) this.#groupStarts.push(this.#fileBytes);
    const mostBytes = 4 + text.length * 3;
    if (this.#pieceBytes + mostBytes > this.#piece.length) this.#endPiece(Math.max(flushBytes, mostBytes));
    // Into one buffer: a buffer for each text would cost more than all the rest.
    const length = this.#piece.write(text, this.#pieceBytes + 4);
    this.#piece.writeUInt32LE(length, this.#pieceBytes);
    this.#pieceBytes += 4 + length;
    this.#unwrittenBytes += 4 + length;
    this.#fileBytes += 4 + length;
  }

  /** The next piece has this size; it is made when it is needed. */
  #endPiece(nextBytes: number): void {
    if (this.#pieceBytes > 0) this.#unwritten.push(this.#piece.subarray(0, this.#pieceBytes));
    this.#piece = Buffer.allocUnsafe(nextBytes);
    this.#pieceBytes = 0;
  }

  #groupOf(group: number): string[] {
    const known = this.#cache.get(group);
    if (known !== undefined) return known;
    const texts = this.#readGroup(group);
    this.#cache.set(group, texts);
    this.#cachedUnits += unitsOf(texts);
    for (const [oldest, old] of this.#cache) {
      if (this.#cachedUnits <= cachedUnits || oldest === group) break;
      this.#cache.delete(oldest);
      this.#cachedUnits -= unitsOf(old);
    }
    return texts;
  }

  #readGroup(group: number): string[] {
    const start = this.#groupStarts[group] ?? 0;
    const end = this.#groupStarts[group + 1] ?? this.#fileBytes;
    const bytes = this.#file?.readNow(start, end - start) ?? Buffer.alloc(0);
    const texts: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = bytes.readUInt32LE(at);
      texts.push(bytes.toString('utf8', at + 4, at + 4 + length));
      at += 4 + length;
    }
    return texts;
  }
}

function unitsOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length + unitsPerText, 0);
}

/** A text may consist of formatted runs; phonetic guides are left out. */
export class SharedStringsPart implements XmlEvents {
  readonly #strings: SharedStrings;
  readonly #maxUnits: number;
  #text = '';
  #isInItem = false;
  #isInText = false;
  #phonetic = 0;

  constructor(strings: SharedStrings, { maxUnits }: { maxUnits: number }) {
    this.#strings = strings;
    this.#maxUnits = maxUnits;
  }

  open(name: string): void {
    if (name === 'si') {
      this.#isInItem = true;
      this.#text = '';
    } else if (name === 'rPh') this.#phonetic += 1;
    this.#isInText = name === 't' && this.#isInItem && this.#phonetic === 0;
  }

  close(name: string): void {
    this.#isInText = false;
    if (name === 'rPh') this.#phonetic -= 1;
    if (name !== 'si') return;
    this.#isInItem = false;
    this.#strings.add(this.#text);
    this.#text = '';
  }

  text(text: string): void {
    if (!this.#isInText) return;
    this.#text += text;
    if (this.#text.length <= this.#maxUnits) return;
    throw readerErrors.raise.cell_too_large(
      `The shared text ${this.#strings.count + 1} of the workbook has more than ${this.#maxUnits} bytes, ` +
        'the most allowed for a value.',
      { details: { max_bytes: this.#maxUnits } },
    );
  }
}

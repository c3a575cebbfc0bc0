/** What a node has in which no piece ends. */
export const noPiece = 0;

/**
 * A trie in one hash table with open addressing: the key is a node and a character, the value is the next node. Node 0
 * is the root.
 */
export class PieceTrie {
  readonly #bits: number;
  readonly #size: number;
  readonly #keys: Float64Array;
  readonly #targets: Int32Array;
  readonly #pieces: number[] = [noPiece];

  /** The table has 2 to the power of `bits` slots, of which half may be used. */
  constructor({ bits }: { bits: number }) {
    this.#bits = bits;
    this.#size = 2 ** bits;
    this.#keys = new Float64Array(this.#size).fill(-1);
    this.#targets = new Int32Array(this.#size);
  }

  add(text: string, piece: number): void {
    let node = 0;
    for (let at = 0; at < text.length; at += 1) node = this.#stepOrGrow(node, text.charCodeAt(at));
    // The vocabulary contains one piece three times; the last one counts.
    this.#pieces[node] = piece;
  }

  /** The next node for this character, or -1. */
  step(node: number, unit: number): number {
    const slot = this.#slotOf(node, unit);
    return this.#keys[slot] === -1 ? -1 : (this.#targets[slot] ?? -1);
  }

  /** The piece that ends in this node, or `noPiece`. */
  pieceAt(node: number): number {
    return this.#pieces[node] ?? noPiece;
  }

  #stepOrGrow(node: number, unit: number): number {
    const slot = this.#slotOf(node, unit);
    if (this.#keys[slot] === -1) {
      if (this.#pieces.length * 2 > this.#size) {
        throw new Error(`The vocabulary has more than ${this.#size / 2} beginnings of pieces`);
      }
      this.#keys[slot] = keyOf(node, unit);
      this.#targets[slot] = this.#pieces.length;
      this.#pieces.push(noPiece);
    }
    return this.#targets[slot] ?? -1;
  }

  #slotOf(node: number, unit: number): number {
    const key = keyOf(node, unit);
    let slot = (Math.imul(node, 0x9e3779b1) ^ Math.imul(unit, 0x85ebca6b)) >>> (32 - this.#bits);
    while (this.#keys[slot] !== -1 && this.#keys[slot] !== key) slot = (slot + 1) & (this.#size - 1);
    return slot;
  }
}

function keyOf(node: number, unit: number): number {
  return node * 0x10000 + unit;
}

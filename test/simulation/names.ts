import { newId } from '../../src/lib/ids.ts';

/** Short names for the ids that the kernel makes, in the order in which they are first seen. */
export class Names {
  readonly #prefix: string;
  readonly #nameById = new Map<string, string>();
  readonly #idByName = new Map<string, string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  nameOf(id: string): string {
    const known = this.#nameById.get(id);
    if (known !== undefined) return known;
    const name = `${this.#prefix}-${String(this.#nameById.size + 1).padStart(4, '0')}`;
    this.#set(name, id);
    return name;
  }

  /** An unknown name gets an id that does not exist in the database. */
  idOf(name: string): string {
    const known = this.#idByName.get(name);
    if (known !== undefined) return known;
    const id = newId();
    this.#set(name, id);
    return id;
  }

  #set(name: string, id: string): void {
    this.#nameById.set(id, name);
    this.#idByName.set(name, id);
  }
}

import type { XmlAttributes, XmlEvents } from '../../formats/xml.ts';
import { kindOfBuiltIn, kindOfFormat, type NumberKind } from './number-formats.ts';

/** More styles than any spreadsheet program allows (65,490) change nothing. */
const mostStyles = 100_000;
const mostFormats = 10_000;

/** Reads what cells' styles say about numbers: which are dates. */
export class Styles implements XmlEvents {
  readonly #customKinds = new Map<number, NumberKind>();
  readonly #kinds: NumberKind[] = [];
  #isInCellFormats = false;

  /** By the number of the style that a cell names; cells without one have style 0. */
  kindOf(style: number): NumberKind {
    return this.#kinds[style] ?? 'number';
  }

  open(name: string, attribute: XmlAttributes): void {
    if (name === 'cellXfs') this.#isInCellFormats = true;
    if (name === 'numFmt' && this.#customKinds.size < mostFormats) {
      this.#customKinds.set(Number(attribute('numFmtId')), kindOfFormat(attribute('formatCode') ?? ''));
    }
    if (name === 'xf' && this.#isInCellFormats && this.#kinds.length < mostStyles) {
      const id = Number(attribute('numFmtId') ?? 0);
      this.#kinds.push(this.#customKinds.get(id) ?? kindOfBuiltIn(id));
    }
  }

  close(name: string): void {
    if (name === 'cellXfs') this.#isInCellFormats = false;
  }
}

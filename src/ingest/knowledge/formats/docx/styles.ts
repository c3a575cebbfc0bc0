import type { XmlEvents } from '../../../../lib/formats/xml.ts';

/** The meaning of styles. Ids of styles are translated with the user interface of Word, names are not. */
export class DocxStyles {
  readonly #styles = new Map<string, Style>();

  /** 1 to 9; null if the style is not a heading. */
  headingLevel(styleId: string | null): number | null {
    let id = styleId;
    // A style may be based on another one, and in broken documents on itself.
    for (let steps = 0; id !== null && steps < 20; steps += 1) {
      const style = this.#styles.get(id);
      if (style === undefined) return levelOfName(id);
      const level = levelOfName(style.name) ?? style.outlineLevel;
      if (level !== null) return level;
      id = style.basedOn;
    }
    return null;
  }

  isTitle(styleId: string | null): boolean {
    if (styleId === null) return false;
    return (this.#styles.get(styleId)?.name ?? styleId).toLowerCase() === 'title';
  }

  /** Reads `styles.xml`. */
  events(): XmlEvents {
    let current: Style | null = null;
    return {
      open: (name, attribute) => {
        if (name === 'style') {
          current = { name: '', basedOn: null, outlineLevel: null };
          const id = attribute('styleId');
          if (id !== null && this.#styles.size < 10_000) this.#styles.set(id, current);
        }
        if (current === null) return;
        if (name === 'name') current.name = attribute('val') ?? '';
        if (name === 'basedOn') current.basedOn = attribute('val');
        if (name === 'outlineLvl') current.outlineLevel = outlineLevelOf(attribute('val'));
      },
      close: (name) => {
        if (name === 'style') current = null;
      },
    };
  }
}

interface Style {
  name: string;
  basedOn: string | null;
  outlineLevel: number | null;
}

/** Counted from 0 in the file; 9 means body text. */
export function outlineLevelOf(value: string | null): number | null {
  const level = Number(value);
  return value !== null && Number.isInteger(level) && level >= 0 && level < 9 ? level + 1 : null;
}

function levelOfName(name: string): number | null {
  const level = /^heading\s?([1-9])$/i.exec(name)?.[1];
  return level === undefined ? null : Number(level);
}

/** Which lists have numbers. */
export class DocxNumbering {
  /** By list, then by level; missing means bullets. */
  readonly #abstract = new Map<string, Map<number, boolean>>();
  readonly #lists = new Map<string, string>();

  isNumbered({ listId, depth }: { listId: string; depth: number }): boolean {
    return this.#abstract.get(this.#lists.get(listId) ?? '')?.get(depth) ?? false;
  }

  /** Reads `numbering.xml`. */
  events(): XmlEvents {
    let levels: Map<number, boolean> | null = null;
    let depth = 0;
    let listId: string | null = null;
    return {
      open: (name, attribute) => {
        if (name === 'abstractNum') {
          levels = new Map();
          if (this.#abstract.size < 10_000) this.#abstract.set(attribute('abstractNumId') ?? '', levels);
        }
        if (name === 'lvl') depth = Number(attribute('ilvl') ?? 0);
        if (name === 'numFmt') levels?.set(depth, !['bullet', 'none'].includes(attribute('val') ?? ''));
        if (name === 'num') listId = attribute('numId');
        if (name === 'abstractNumId' && listId !== null && this.#lists.size < 50_000) {
          this.#lists.set(listId, attribute('val') ?? '');
        }
      },
      close: (name) => {
        if (name === 'abstractNum') levels = null;
        if (name === 'num') listId = null;
      },
    };
  }
}

import { type Archive, openArchive } from '../../../../lib/formats/archive.ts';
import { readXml, type XmlEvents } from '../../../../lib/formats/xml.ts';
import { documentErrors } from '../errors.ts';
import type { ConvertOptions } from '../types.ts';

/** The parts of a document that is a ZIP archive of XML. Only requested parts are unpacked, within the limits. */
export class OfficeParts {
  readonly #archive: Archive;
  readonly #options: ConvertOptions;

  private constructor(archive: Archive, options: ConvertOptions) {
    this.#archive = archive;
    this.#options = options;
  }

  static async open(bytes: Buffer, options: ConvertOptions): Promise<OfficeParts> {
    const { document_is_broken, document_is_encrypted, document_unfolds_too_far } = documentErrors.raise;
    const { limits } = options;
    const archive = await openArchive(bytes, {
      limits: {
        maxEntries: limits.maxArchiveEntries,
        maxInflatedBytes: limits.maxInflatedBytes,
        maxRatio: limits.maxInflateRatio,
      },
      errors: {
        broken: (why, cause) => document_is_broken(why, { cause }),
        encrypted: (why) => document_is_encrypted(why),
        expandsTooFar: (why) => document_unfolds_too_far(why),
      },
    });
    return new OfficeParts(archive, options);
  }

  get names(): string[] {
    return this.#archive.entries.map(({ name }) => name);
  }

  /** False if there is no such part. */
  async read(part: string, events: XmlEvents): Promise<boolean> {
    const entry = this.#archive.find(part);
    if (entry === null) return false;
    const { onProgress } = this.#options;
    const broken = (why: string) =>
      documentErrors.raise.document_is_broken(`Its part ${part.slice(0, 100)} is not valid XML: ${why}`);
    await readXml(this.#archive.read(entry), { events, onProgress, broken });
    return true;
  }

  async readNeeded(part: string, events: XmlEvents): Promise<void> {
    if (await this.read(part, events)) return;
    throw documentErrors.raise.document_is_broken(`The document has no part ${part.slice(0, 100)}`);
  }

  /** Null if there is no such part. */
  async bytesOf(part: string): Promise<Buffer | null> {
    const entry = this.#archive.find(part);
    if (entry === null) return null;
    const pieces: Buffer[] = [];
    for await (const piece of this.#archive.read(entry)) pieces.push(piece);
    this.#options.onProgress();
    return Buffer.concat(pieces);
  }

  close(): void {
    this.#archive.close();
  }
}

import { readXml, type XmlEvents } from '../../../../lib/formats/xml.ts';
import { documentErrors } from '../errors.ts';

/** Reads a part of a Word document as a stream. */
export function readDocxXml(
  pieces: AsyncIterable<Buffer>,
  options: { events: XmlEvents; onProgress(): void },
): Promise<void> {
  const broken = (why: string) =>
    documentErrors.raise.docx_is_broken(`One of its parts is not readable XML: ${why}`);
  return readXml(pieces, { ...options, broken });
}

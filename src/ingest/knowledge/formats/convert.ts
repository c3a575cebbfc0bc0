import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { mediaTypeOf } from './detect.ts';
import { documentErrors } from './errors.ts';
import { storableText, storableTitle, titleOfName } from './safe-text.ts';
import type { Converted, ConvertOptions, DocumentKind, ReadResult } from './types.ts';

export interface ConvertInput {
  kind: DocumentKind;
  name: string;
  bytes: Buffer;
}

/** Converts a document of a known kind to text. Problems are returned, not thrown. */
export async function convertDocument(input: ConvertInput, options: ConvertOptions): Promise<ReadResult> {
  const fallback = titleOfName(input.name);
  try {
    const { title, text, notes, metadata = {}, pageStarts } = await readKind(input, options);
    const safe = storableText(text, notes);
    if (safe.length > options.limits.maxTextUnits) {
      throw documentErrors.raise.document_too_large(
        `The document has more than ${options.limits.maxTextUnits} characters of text, which is the limit`,
      );
    }
    const named = storableTitle(title ?? '') || fallback;
    if (!hasWords(safe)) return { kind: 'empty', title: named, reason: 'The document has no text.' };
    const mediaType = mediaTypeOf(input.kind);
    return {
      kind: 'text',
      title: named,
      text: safe,
      mediaType,
      notes,
      metadata: { format: input.kind, ...metadata },
      // Something was taken out of the text: its positions are no longer those of the reader.
      ...(pageStarts === undefined || safe.length !== text.length ? {} : { pageStarts }),
    };
  } catch (error) {
    return unreadable(error, fallback);
  }
}

/** Turns an error into a result: a SluiceError describes the document, any other one a bug of the reader. */
export function unreadable(error: unknown, title: string): ReadResult {
  const known = isSluiceError(error)
    ? error
    : documentErrors.raise.document_reader_failed(`The document could not be read: ${messageOf(error)}`);
  return { kind: 'error', title, code: known.code, message: storableText(known.message).slice(0, 1_000) };
}

async function readKind({ kind, bytes }: ConvertInput, options: ConvertOptions): Promise<Converted> {
  switch (kind) {
    case 'markdown':
      return (await import('./plain-text.ts')).readMarkdown(bytes, options);
    case 'text':
      return (await import('./plain-text.ts')).readPlainText(bytes, options);
    case 'vtt':
    case 'srt':
      return (await import('./captions.ts')).readCaptions(bytes, options);
    case 'html':
      return (await import('./html/html.ts')).readHtml(bytes, options);
    case 'pdf':
      return (await import('./pdf/pdf.ts')).readPdf(bytes, options);
    case 'rtf':
      return (await import('./rtf/rtf.ts')).readRtf(bytes, options);
    case 'eml':
      return (await import('./mail/eml.ts')).readEml(bytes, options);
    case 'image':
      return (await import('./ocr/image.ts')).readImage(bytes, options);
    case 'docx':
      return (await import('./docx/docx.ts')).readDocx(bytes, options);
    case 'pptx':
      return (await import('./office/pptx.ts')).readPptx(bytes, options);
    case 'odt':
      return (await import('./office/odt.ts')).readOdt(bytes, options);
    case 'epub':
      return (await import('./office/epub.ts')).readEpub(bytes, options);
    case 'csv':
    case 'xlsx':
      return (await import('./table-rows.ts')).readTable(bytes, options, kind);
  }
}

/** Whether there is anything but spaces, control and format characters. */
function hasWords(text: string): boolean {
  return /[^\s\p{Cc}\p{Cf}\ufffd]/u.test(text);
}

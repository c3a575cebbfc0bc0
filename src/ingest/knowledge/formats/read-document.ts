import { asBuffer } from '../../../lib/formats/byte-source.ts';
import { convertDocument, unreadable } from './convert.ts';
import { detectKind } from './detect.ts';
import { DocumentReader } from './document-reader.ts';
import { documentErrors } from './errors.ts';
import { titleOfName } from './safe-text.ts';
import {
  type DocumentInput,
  type DocumentKind,
  type DocumentLimits,
  defaultDocumentLimits,
  type ReadResult,
} from './types.ts';

/** One per process: all sources share it, and documents are read one after the other. */
const sharedReader = new DocumentReader();

/** Texts up to this size take about a millisecond; everything else is read in the thread. */
const smallBytes = 64 * 1024;
const cheapKinds = new Set<DocumentKind>(['markdown', 'text', 'vtt', 'srt']);

/** Converts a document to text. Problems of the document are returned; it throws only if the signal is aborted. */
export async function readDocument(
  input: DocumentInput,
  options: { signal: AbortSignal; limits?: Partial<DocumentLimits>; reader?: DocumentReader },
): Promise<ReadResult> {
  const { signal, reader = sharedReader } = options;
  const limits = { ...defaultDocumentLimits, ...options.limits };
  signal.throwIfAborted();
  const bytes = asBuffer(input.bytes);
  const title = titleOfName(input.name);
  if (bytes.length > limits.maxBytes) return tooLarge(limits.maxBytes, title);
  if (bytes.length === 0) return { kind: 'empty', title, reason: 'The document is empty.' };
  const { name } = input;
  const charset = charsetOf(input.mediaType);
  let kind: DocumentKind;
  try {
    kind = input.kind ?? detectKind(bytes, { name, mediaType: input.mediaType });
  } catch (error) {
    return unreadable(error, title);
  }
  if (bytes.length <= smallBytes && cheapKinds.has(kind)) {
    return convertDocument({ kind, name, bytes }, { limits, charset, onProgress: () => {} });
  }
  const { isHandedOver = false } = input;
  return reader.read({ kind, name, bytes: handOver(bytes, isHandedOver), charset, limits }, signal);
}

/** Ends the thread that reads documents, unless another caller in the process still waits for one. */
export async function closeDocumentReader(): Promise<void> {
  await sharedReader.closeIfIdle();
}

function tooLarge(maxBytes: number, title: string): ReadResult {
  const error = documentErrors.raise.document_too_large(
    `The document has more than ${maxBytes} bytes, which is the limit`,
  );
  return unreadable(error, title);
}

/** Copies if the caller may still use the bytes, or if a small buffer shares its memory with others. */
function handOver(bytes: Buffer, isOurs: boolean): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  if (isOurs && buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) {
    return new Uint8Array(buffer);
  }
  return new Uint8Array(bytes);
}

function charsetOf(mediaType: string | null | undefined): string | null {
  return /;\s*charset\s*=\s*"?([A-Za-z0-9_:.-]{1,40})/i.exec(mediaType ?? '')?.[1] ?? null;
}

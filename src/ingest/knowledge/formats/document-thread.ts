import { type MessagePort, parentPort } from 'node:worker_threads';
import { convertDocument } from './convert.ts';
import type { DocumentKind, DocumentLimits, ReadResult } from './types.ts';

// What runs in the thread that documents are read in; `document-reader.ts` starts and watches it.
if (parentPort !== null) answerQuestions(parentPort);

const progressEveryMs = 200;

function answerQuestions(port: MessagePort): void {
  // The reader of PDFs leaves promises behind whose failures it tells by another way as well.
  process.on('unhandledRejection', () => {});
  const answer = (message: ThreadAnswer) => port.postMessage(message);
  port.on('message', async ({ id, kind, name, bytes, charset, limits }: ThreadQuestion) => {
    let toldAt = 0;
    const onProgress = () => {
      const now = performance.now();
      if (now - toldAt < progressEveryMs) return;
      toldAt = now;
      answer({ type: 'progress', id });
    };
    const document = { kind, name, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
    answer({ type: 'done', id, result: await convertDocument(document, { limits, charset, onProgress }) });
  });
}

export interface ThreadQuestion {
  id: number;
  kind: DocumentKind;
  name: string;
  /** Handed over, not copied. */
  bytes: Uint8Array<ArrayBuffer>;
  charset: string | null;
  limits: DocumentLimits;
}

export type ThreadAnswer =
  | { type: 'progress'; id: number }
  | { type: 'done'; id: number; result: ReadResult };

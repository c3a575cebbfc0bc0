import { type MessagePort, parentPort } from 'node:worker_threads';
import { giveWay } from '../../../lib/threads/give-way.ts';
import { convertDocument } from './convert.ts';
import type { ConvertOptions, DocumentKind, DocumentLimits, ReadResult } from './types.ts';

// Runs in the thread that reads documents; `document-reader.ts` starts and watches it.
if (parentPort !== null) {
  giveWay();
  answerQuestions(parentPort);
}

const progressEveryMs = 200;

function answerQuestions(port: MessagePort): void {
  // The PDF library leaves rejected promises behind whose errors it also reports in another way.
  process.on('unhandledRejection', () => {});
  const answer = (message: ThreadAnswer) => port.postMessage(message);
  port.on('message', async ({ id, kind, name, bytes, charset, limits }: ThreadQuestion) => {
    let toldAt = 0;
    const onProgress: ConvertOptions['onProgress'] = (doing) => {
      const isRecognising = doing?.isRecognising ?? false;
      const now = performance.now();
      if (now - toldAt < progressEveryMs && !isRecognising) return;
      toldAt = now;
      answer({ type: 'progress', id, isRecognising });
    };
    const document = { kind, name, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
    answer({ type: 'done', id, result: await convertDocument(document, { limits, charset, onProgress }) });
  });
}

export interface ThreadQuestion {
  id: number;
  kind: DocumentKind;
  name: string;
  /** Transferred, not copied. */
  bytes: Uint8Array<ArrayBuffer>;
  charset: string | null;
  limits: DocumentLimits;
}

export type ThreadAnswer =
  | { type: 'progress'; id: number; isRecognising: boolean }
  | { type: 'done'; id: number; result: ReadResult };

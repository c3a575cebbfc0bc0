import { type MessagePort, parentPort } from 'node:worker_threads';
import { giveWay } from '../../../lib/threads/give-way.ts';
import { decodeImage, loadDecoder, openRoom } from './decode.ts';
import type { DecodeAnswer, DecodeQuestion } from './types.ts';
import { imageLimits } from './types.ts';

// What runs in the thread that images are decoded in; `decoder.ts` starts and watches it. Loading the library alone
// takes longer than an event loop may stand still.
if (parentPort !== null) {
  giveWay();
  answerQuestions(parentPort);
}

function answerQuestions(port: MessagePort): void {
  const loading = loadDecoder();
  const room = openRoom(imageLimits.decodedBytes);
  port.on('message', async ({ id, bytes }: DecodeQuestion) => {
    const decoded = await decodeImage(await loading, bytes, room);
    const answer: DecodeAnswer = { id, ...decoded };
    port.postMessage(answer, decoded.ok ? [decoded.thumbnail.buffer] : []);
  });
}

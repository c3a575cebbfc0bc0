import { type MessagePort, parentPort } from 'node:worker_threads';
import { decodeImage, loadDecoder, type PixelRoom } from './decode.ts';
import type { DecodeAnswer, DecodeQuestion } from './thread-messages.ts';
import { imageLimits } from './types.ts';

// What runs in the thread that images are decoded in; `decoder.ts` starts and watches it. Loading the library alone
// takes longer than an event loop may stand still.
if (parentPort !== null) answerQuestions(parentPort);

function answerQuestions(port: MessagePort): void {
  const loading = loadDecoder();
  const room = openRoom(imageLimits.decodedBytes);
  port.on('message', async ({ id, bytes }: DecodeQuestion) => {
    const decoded = await decodeImage(await loading, bytes, room);
    const answer: DecodeAnswer = { id, ...decoded };
    port.postMessage(answer, decoded.ok ? [decoded.thumbnail.buffer] : []);
  });
}

/** First come, first served: a large image is not overtaken by small ones for ever. */
function openRoom(bytes: number): PixelRoom {
  let free = bytes;
  const waiting: { wanted: number; enter: () => void }[] = [];
  const admit = (): void => {
    for (let first = waiting[0]; first !== undefined && first.wanted <= free; first = waiting[0]) {
      waiting.shift();
      free -= first.wanted;
      first.enter();
    }
  };
  return {
    take: (wanted) =>
      new Promise((resolve) => {
        const leave = (): void => {
          free += wanted;
          admit();
        };
        waiting.push({ wanted, enter: () => resolve(leave) });
        admit();
      }),
  };
}

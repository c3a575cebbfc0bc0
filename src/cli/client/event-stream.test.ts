import { expect, test } from 'vitest';
import { type Frame, readFrames } from './event-stream.ts';

async function framesOf(chunks: string[]): Promise<Frame[]> {
  async function* stream() {
    yield* chunks;
  }
  const frames: Frame[] = [];
  for await (const frame of readFrames(stream())) frames.push(frame);
  return frames;
}

const text =
  'retry: 2000\nid: 7-0\n\n: heartbeat\nid: 8-0\n\nid: 9-1\nevent: job.queued\ndata: {"a":\ndata: 1}\n\n';
const frames = [
  { id: '7-0', data: null },
  { id: '8-0', data: null },
  { id: '9-1', data: '{"a":\n1}' },
];

test('a stream reads the same wherever its chunks are cut, and with both kinds of line ending', async () => {
  for (const end of ['\n', '\r\n']) {
    const whole = text.replaceAll('\n', end);
    for (let cut = 0; cut <= whole.length; cut += 1) {
      expect(await framesOf([whole.slice(0, cut), whole.slice(cut)])).toEqual(frames);
    }
    expect(await framesOf([...whole])).toEqual(frames);
  }
});

test('an event that was cut off before its end is not returned', async () => {
  expect(await framesOf(['id: 1-1\ndata: x\n\nid: 2-2\ndata: y\n'])).toEqual([{ id: '1-1', data: 'x' }]);
});

test('an event without an id keeps the one before it, and an endless event is refused', async () => {
  expect(await framesOf(['id: 1-1\n\ndata: x\n\n'])).toEqual([
    { id: '1-1', data: null },
    { id: '1-1', data: 'x' },
  ]);
  await expect(framesOf(Array(9).fill('x'.repeat(1024 * 1024)))).rejects.toThrow('too long');
});

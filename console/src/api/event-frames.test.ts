import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameReader } from './event-frames.ts';

const event = { id: '9-1', type: 'job.queued', data: { text: 'zwei\nZeilen' } };
const stream = [
  'retry: 2000\nid: 8-0\n\n',
  ': heartbeat\nid: 8-5\n\n',
  `id: 9-1\nevent: job.queued\ndata: ${JSON.stringify(event)}\n\n`,
].join('');

test('frames are read whole wherever the text is split', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), stream.length];
      const reader = new FrameReader();
      const frames = places.slice(1).flatMap((end, index) => reader.read(stream.slice(places[index], end)));
      expect(frames.map(({ id }) => id)).toEqual(['8-0', '8-5', '9-1']);
      expect(frames.at(-1)?.event).toEqual(event);
    }),
  );
});

test('a heartbeat moves the position without an event', () => {
  expect(new FrameReader().read(': heartbeat\nid: 8-5\n\n')).toEqual([{ id: '8-5', event: null }]);
});

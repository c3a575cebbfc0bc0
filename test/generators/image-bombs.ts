import type { Bomb } from './bombs.ts';
import { zipOf } from './zip-archive.ts';

const mebibyte = 1024 * 1024;
const pngStart = Buffer.from('89504e470d0a1a0a', 'hex');
const largePng = () => Buffer.concat([pngStart, Buffer.alloc(60 * mebibyte)]);

function nested(levels: number): Buffer {
  let inner = zipOf([{ name: 'x.png', content: pngStart }]);
  for (let level = 0; level < levels; level += 1) inner = zipOf([{ name: `${level}.zip`, content: inner }]);
  return inner;
}

/** Archives that somebody sends as images: refused as a whole. */
export const imageArchiveBombs: readonly Bomb[] = [
  {
    what: 'an archive of 100,000 entries',
    content: () => [
      zipOf(Array.from({ length: 100_000 }, (_, n) => ({ name: `${n}.png`, content: '', isStored: true }))),
    ],
  },
  {
    what: 'an archive of an image that unfolds a thousandfold',
    content: () => [zipOf([{ name: 'x.png', content: largePng() }])],
  },
  {
    what: 'an archive whose entries are all one and the same bytes',
    content: () => {
      const content = Buffer.concat([pngStart, Buffer.alloc(3 * mebibyte)]);
      const first = { name: '0.png', content };
      const others = Array.from({ length: 20 }, (_, n) => ({
        name: `${n + 1}.png`,
        content,
        sharesFirst: true,
      }));
      return [zipOf([first, ...others])];
    },
  },
  { what: 'archives within archives, ten deep', content: () => [nested(10)] },
  {
    what: 'an archive that says an entry is small',
    content: () => [zipOf([{ name: 'x.png', content: largePng(), statedBytes: 8 }])],
  },
  {
    what: 'an archive of names that climb',
    content: () => [zipOf([{ name: '../../../tmp/x.png', content: pngStart }])],
  },
  {
    what: 'an archive of absolute names',
    content: () => [zipOf([{ name: '/tmp/x.png', content: pngStart }])],
  },
  {
    what: 'an archive that is locked',
    content: () => [zipOf([{ name: 'x.png', content: pngStart, flags: 1 }])],
  },
];

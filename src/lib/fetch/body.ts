import { pipeline, type Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { fetchErrors } from './errors.ts';

export interface BodyRules {
  host: string;
  encoding: string | undefined;
  contentLength: string | undefined;
  maxBytes: number;
}

export interface DecodedBody {
  stream: Readable;
  /** A response may announce gzip and have no body at all, which the decoder takes for a broken one. */
  isEmpty(): boolean;
}

/** The body as it was before compression, cut off with an error when it grows beyond the limit on either side. */
export function decodeBody(source: Readable, rules: BodyRules): DecodedBody {
  const encodings = listEncodings(rules);
  if (Number(rules.contentLength ?? 0) > rules.maxBytes) throw tooLarge(rules);
  let hasArrived = false;
  const onWire = byteLimit(rules).once('data', () => {
    hasArrived = true;
  });
  const decoded = byteLimit(rules);
  const steps = encodings.map((encoding) => decoders[encoding]());
  // Errors arrive where the body is read: pipeline destroys every part with the error of the one that failed.
  pipeline([source, onWire, ...steps, decoded], () => {});
  return { stream: decoded, isEmpty: () => !hasArrived };
}

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;
type Encoding = keyof typeof decoders;
const maxEncodings = 2;

/** In the order in which they have to be undone. */
function listEncodings({ encoding, host }: BodyRules): Encoding[] {
  const names = (encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > maxEncodings || !names.every(isEncoding)) {
    throw fetchErrors.raise.fetch_failed(
      `${host} responded with the content encoding ${JSON.stringify(encoding?.slice(0, 100))}; we asked for gzip or br`,
    );
  }
  return (names as Encoding[]).reverse();
}

function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(decoders, name);
}

function byteLimit(rules: BodyRules): Transform {
  let seenBytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seenBytes += chunk.length;
      if (seenBytes > rules.maxBytes) done(tooLarge(rules));
      else done(null, chunk);
    },
  });
}

function tooLarge({ host, maxBytes }: BodyRules) {
  return fetchErrors.raise.response_too_large(
    `The response of ${host} is larger than ${maxBytes} bytes, counted after decompression`,
  );
}

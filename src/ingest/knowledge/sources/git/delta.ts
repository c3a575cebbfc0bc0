import type { Breaks } from './breaks.ts';
import { gitErrors } from './errors.ts';

const commandsAtOnce = 20_000;

/** An object that is described by pieces of another one and by new bytes. */
export async function applyDelta(
  base: Buffer,
  delta: Buffer,
  { maxBytes, breaks }: { maxBytes: number; breaks: Breaks },
): Promise<Buffer> {
  let at = 0;
  const next = () => {
    const byte = delta[at];
    if (byte === undefined) throw broken();
    at += 1;
    return byte;
  };
  const size = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = next();
      value += (byte & 127) * factor;
      if ((byte & 128) === 0) return value;
      if (factor > 2 ** 40) throw broken();
    }
  };
  if (size() !== base.length) throw broken();
  const length = size();
  if (length > maxBytes) throw broken();
  const made = Buffer.alloc(length);
  let filled = 0;
  for (let done = 1; at < delta.length; done += 1) {
    if (done % commandsAtOnce === 0) await breaks();
    const command = next();
    const from = command & 128 ? copied(command, next) : { start: at, length: command };
    const source = command & 128 ? base : delta;
    const isOutside = from.start + from.length > source.length || filled + from.length > length;
    if (command === 0 || isOutside) throw broken();
    source.copy(made, filled, from.start, from.start + from.length);
    filled += from.length;
    if ((command & 128) === 0) at += command;
  }
  if (filled !== length) throw broken();
  return made;
}

/** Which bytes of offset and length follow, the lowest first, is said by the bits of the command. */
function copied(command: number, next: () => number): { start: number; length: number } {
  let start = 0;
  for (let place = 0; place < 4; place += 1) if (command & (1 << place)) start += next() * 256 ** place;
  let length = 0;
  for (let place = 0; place < 3; place += 1) if (command & (16 << place)) length += next() * 256 ** place;
  return { start, length: length === 0 ? 0x10000 : length };
}

function broken(): Error {
  return gitErrors.raise.git_pack_broken('The pack of the Git server cannot be used: a delta is broken');
}

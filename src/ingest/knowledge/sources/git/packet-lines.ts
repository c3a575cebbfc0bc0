import { gitErrors } from './errors.ts';

/** Git's framing: four hexadecimal digits of length, then the content. Lengths below four are marks. */
export type Packet = { kind: 'data'; data: Buffer } | { kind: 'flush' | 'delimiter' | 'end' };

export const flush = '0000';
export const delimiter = '0001';

export function packet(line: string): string {
  const content = `${line}\n`;
  return (Buffer.byteLength(content) + 4).toString(16).padStart(4, '0') + content;
}

const marks = ['flush', 'delimiter', 'end'] as const;

/** Reads packets of a stream of bytes, however it is cut into pieces. */
export async function* readPackets(content: AsyncIterable<Uint8Array>): AsyncGenerator<Packet> {
  let pending = Buffer.alloc(0);
  for await (const piece of content) {
    pending = pending.length === 0 ? Buffer.from(piece) : Buffer.concat([pending, piece]);
    for (;;) {
      if (pending.length < 4) break;
      const digits = pending.toString('latin1', 0, 4);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw notGit();
      const length = Number.parseInt(digits, 16);
      const mark = marks[length];
      if (mark !== undefined) {
        yield { kind: mark };
        pending = pending.subarray(4);
        continue;
      }
      if (length < 4) throw notGit();
      if (pending.length < length) break;
      yield { kind: 'data', data: pending.subarray(4, length) };
      pending = pending.subarray(length);
    }
  }
  if (pending.length > 0) throw gitErrors.raise.git_pack_broken('The response of the Git server ends early');
}

export function lineOf(data: Buffer): string {
  return data.toString('utf8').replace(/\n$/, '');
}

function notGit(): Error {
  return gitErrors.raise.git_protocol_unknown('The response is not in the form of Git’s protocol');
}

import type { Event } from './types.ts';

export interface Frame {
  id: string | null;
  /** Null: only the position has moved, without an event. */
  event: Event | null;
}

/** Reads server-sent events from pieces of text that may be split anywhere. */
export class FrameReader {
  #rest = '';

  read(piece: string): Frame[] {
    const blocks = (this.#rest + piece).split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? '';
    return blocks.map(frameOf).filter((frame) => frame.id !== null || frame.event !== null);
  }
}

function frameOf(block: string): Frame {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(id|data): ?(.*)$/.exec(line) ?? [];
    if (name === 'id') id = value ?? '';
    else if (name === 'data') data.push(value ?? '');
  }
  return { id, event: data.length === 0 ? null : (JSON.parse(data.join('\n')) as Event) };
}

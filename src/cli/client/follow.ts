import { pause } from '../../lib/timing/abort.ts';
import { note } from '../terminal/output.ts';
import { ProgressLine } from '../terminal/progress.ts';
import { defaultMaxOutageMs, Outage } from './event-stream.ts';

interface Stage {
  /** Said once, when it changes; nothing is said for an empty one. Without it the last one goes on. */
  words?: string;
  done: number;
  total: number | null;
}

interface FollowOptions<Seen> {
  /** Null when there is nothing more to follow. */
  stageOf(seen: Seen): Stage | null;
  signal: AbortSignal;
  isSilent?: boolean;
  /** A server that is away at the first look is a failure. */
  mustBeThere?: boolean;
}

const pollMs = 400;

/** Looks until there is nothing more to follow, and shows how far it is. A server that goes away is waited for. */
export async function follow<Seen>(look: () => Promise<Seen>, options: FollowOptions<Seen>): Promise<Seen> {
  const { stageOf, signal, isSilent, mustBeThere = false } = options;
  let progress = new ProgressLine({ isSilent });
  let words = '';
  const say = (text: string): void => {
    progress.end();
    note(text);
  };
  const outage = new Outage(defaultMaxOutageMs, say);
  let seen = mustBeThere ? await look() : await outage.bridge(look, signal);
  try {
    for (;;) {
      const stage = seen && stageOf(seen);
      if (seen !== null && stage === null) return seen;
      if (stage?.words !== undefined && stage.words !== words) {
        words = stage.words;
        if (words !== '') say(words);
        progress = new ProgressLine({ isSilent });
      }
      if (stage !== null) progress.update(stage);
      await pause(seen === null ? outage.nextPauseMs() : pollMs, signal);
      signal.throwIfAborted();
      seen = await outage.bridge(look, signal);
    }
  } finally {
    progress.end();
  }
}

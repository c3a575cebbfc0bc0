import { type LiveState, useLiveState } from '../api/live.ts';
import { live } from '../api/queries.ts';
import { clockText } from '../parts/moments.ts';

/** Green streaming, amber polling, red offline since when; always with the word. */
export function LiveDot() {
  const state = useLiveState(live);
  const { word, meaning } = wordsFor(state);
  return (
    <span className="live-dot" data-live={state.kind} title={meaning} role="status">
      {word}
    </span>
  );
}

function wordsFor(state: LiveState): { word: string; meaning: string } {
  switch (state.kind) {
    case 'connecting':
      return { word: 'Connecting', meaning: 'The event stream is being opened' };
    case 'streaming':
      return { word: 'Live', meaning: 'This page updates by itself' };
    case 'polling':
      return {
        word: 'Every 5 s',
        meaning: 'There is no event stream; everything is loaded again every 5 seconds',
      };
    case 'offline':
      return {
        word: `Offline since ${clockText(state.since, new Date())}`,
        meaning: 'The server cannot be reached. What you see is older; the console retries by itself',
      };
  }
}

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
      return { word: 'Connecting', meaning: 'The stream of events is being opened' };
    case 'streaming':
      return { word: 'Live', meaning: 'What you see changes by itself as things happen' };
    case 'polling':
      return {
        word: 'Every 5 s',
        meaning: 'There is no stream of events; everything is asked again every 5 seconds',
      };
    case 'offline':
      return {
        word: `Offline since ${clockText(state.since, new Date())}`,
        meaning: 'The server cannot be reached. What you see is from before; it is tried again by itself',
      };
  }
}

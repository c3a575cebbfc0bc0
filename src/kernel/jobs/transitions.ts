import type { JobStatus } from './types.ts';

type Way = readonly [from: JobStatus, to: JobStatus, when: string];

/**
 * The whole state machine. Every move is a guarded update that names its `from` states; a move that is not here cannot
 * happen. docs/state-machines.md is generated from this table, and the model-based test covers all of it.
 */
const moves = {
  claim: [
    ['queued', 'running', 'a worker takes the job: its first slice'],
    ['failed', 'running', 'a worker takes a due retry'],
    ['running', 'running', 'a worker takes the next slice'],
    ['canceled', 'canceled', 'a worker takes a cleanup slice'],
  ],
  continue: [
    ['running', 'running', 'a slice was committed and more remains to be done'],
    ['paused', 'paused', 'the slice in flight at the pause was committed'],
  ],
  wait: [
    ['running', 'running', 'the next slice has to wait; no attempt is used'],
    ['paused', 'paused', 'the slice in flight at the pause has to wait'],
  ],
  finish: [
    ['running', 'success', 'the last slice was committed'],
    ['paused', 'success', 'the slice in flight at the pause was the last one'],
  ],
  retry: [
    ['running', 'failed', 'a slice failed and attempts are left'],
    ['paused', 'paused', 'the slice in flight at the pause failed; resuming retries it'],
  ],
  give_up: [
    ['running', 'dead_letter', 'a slice failed for good'],
    ['paused', 'dead_letter', 'the slice in flight at the pause failed for good'],
  ],
  pause: [
    ['queued', 'paused', 'a person pauses it before its first slice'],
    ['running', 'paused', 'a person pauses it'],
    ['failed', 'paused', 'a person pauses it while it waits for a retry'],
  ],
  resume: [
    ['paused', 'queued', 'a person resumes a job that never started'],
    ['paused', 'running', 'a person resumes a started job'],
    ['paused', 'failed', 'a person resumes a job that waits for a retry'],
  ],
  cancel: [
    ['queued', 'canceled', 'a person cancels it'],
    ['running', 'canceled', 'a person cancels it; cleanup slices may follow'],
    ['paused', 'canceled', 'a person cancels it; cleanup slices may follow'],
    ['failed', 'canceled', 'a person cancels it while it waits for a retry'],
  ],
  clean_up: [['canceled', 'canceled', 'a cleanup slice was committed']],
  rescue: [
    ['running', 'running', 'its worker died or fell silent'],
    ['paused', 'paused', 'its worker died or fell silent after the pause'],
    ['canceled', 'canceled', 'the worker of a cleanup slice died or fell silent'],
    ['running', 'dead_letter', 'too many workers in a row died with it'],
  ],
  reopen: [['success', 'queued', 'rows of a finished items job are to be processed again']],
} as const satisfies Record<string, readonly Way[]>;

export type Move = keyof typeof moves;

export interface Transition {
  move: Move;
  from: JobStatus;
  to: JobStatus;
  when: string;
}

export const transitions: readonly Transition[] = Object.entries(moves).flatMap(([move, ways]) =>
  ways.map(([from, to, when]) => ({ move: move as Move, from, to, when })),
);

export function statesBefore(move: Move): JobStatus[] {
  return [...new Set(transitions.filter((transition) => transition.move === move).map(({ from }) => from))];
}

export function isLegal(move: Move, from: JobStatus): boolean {
  return transitions.some((transition) => transition.move === move && transition.from === from);
}

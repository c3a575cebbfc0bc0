import type { JobStatus } from './types.ts';

/**
 * The whole state machine. Every move is a guarded update that names its `from` states; a move that is not here cannot
 * happen. docs/state-machines.md is generated from this table, and the model-based test covers all of it.
 */
export type Move =
  | 'claim'
  | 'continue'
  | 'wait'
  | 'finish'
  | 'retry'
  | 'give_up'
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'clean_up'
  | 'rescue'
  | 'reopen';

export interface Transition {
  move: Move;
  from: JobStatus;
  to: JobStatus;
  when: string;
}

export const transitions: readonly Transition[] = [
  { move: 'claim', from: 'queued', to: 'running', when: 'a worker takes the job: its first slice' },
  { move: 'claim', from: 'failed', to: 'running', when: 'a worker takes a due retry' },
  { move: 'claim', from: 'running', to: 'running', when: 'a worker takes the next slice' },
  { move: 'claim', from: 'canceled', to: 'canceled', when: 'a worker takes a cleanup slice' },
  {
    move: 'continue',
    from: 'running',
    to: 'running',
    when: 'a slice was committed and more remains to be done',
  },
  { move: 'continue', from: 'paused', to: 'paused', when: 'the slice in flight at the pause was committed' },
  { move: 'wait', from: 'running', to: 'running', when: 'the next slice has to wait; no attempt is used' },
  { move: 'wait', from: 'paused', to: 'paused', when: 'the slice in flight at the pause has to wait' },
  { move: 'finish', from: 'running', to: 'success', when: 'the last slice was committed' },
  {
    move: 'finish',
    from: 'paused',
    to: 'success',
    when: 'the slice in flight at the pause was the last one',
  },
  { move: 'retry', from: 'running', to: 'failed', when: 'a slice failed and attempts are left' },
  {
    move: 'retry',
    from: 'paused',
    to: 'paused',
    when: 'the slice in flight at the pause failed; resuming retries it',
  },
  { move: 'give_up', from: 'running', to: 'dead_letter', when: 'a slice failed for good' },
  {
    move: 'give_up',
    from: 'paused',
    to: 'dead_letter',
    when: 'the slice in flight at the pause failed for good',
  },
  { move: 'pause', from: 'queued', to: 'paused', when: 'a person pauses it before its first slice' },
  { move: 'pause', from: 'running', to: 'paused', when: 'a person pauses it' },
  { move: 'pause', from: 'failed', to: 'paused', when: 'a person pauses it while it waits for a retry' },
  { move: 'resume', from: 'paused', to: 'queued', when: 'a person resumes a job that never started' },
  { move: 'resume', from: 'paused', to: 'running', when: 'a person resumes a started job' },
  { move: 'resume', from: 'paused', to: 'failed', when: 'a person resumes a job that waits for a retry' },
  { move: 'cancel', from: 'queued', to: 'canceled', when: 'a person cancels it' },
  { move: 'cancel', from: 'running', to: 'canceled', when: 'a person cancels it; cleanup slices may follow' },
  { move: 'cancel', from: 'paused', to: 'canceled', when: 'a person cancels it; cleanup slices may follow' },
  { move: 'cancel', from: 'failed', to: 'canceled', when: 'a person cancels it while it waits for a retry' },
  { move: 'clean_up', from: 'canceled', to: 'canceled', when: 'a cleanup slice was committed' },
  { move: 'rescue', from: 'running', to: 'running', when: 'its worker died or fell silent' },
  { move: 'rescue', from: 'paused', to: 'paused', when: 'its worker died or fell silent after the pause' },
  {
    move: 'rescue',
    from: 'canceled',
    to: 'canceled',
    when: 'the worker of a cleanup slice died or fell silent',
  },
  { move: 'rescue', from: 'running', to: 'dead_letter', when: 'too many workers in a row died with it' },
  {
    move: 'reopen',
    from: 'success',
    to: 'queued',
    when: 'rows of a finished items job are to be processed again',
  },
];

export function statesBefore(move: Move): JobStatus[] {
  return [...new Set(transitions.filter((transition) => transition.move === move).map(({ from }) => from))];
}

export function isLegal(move: Move, from: JobStatus): boolean {
  return transitions.some((transition) => transition.move === move && transition.from === from);
}

import type { Lease, Outcome } from '../../src/kernel/jobs/types.ts';
import type { Claim, GuardedBy } from './job-store.ts';

export type HappeningKind =
  | 'dispatch'
  | 'requeue'
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'claim'
  | 'save'
  | 'settle'
  | 'release'
  | 'renew'
  | 'rescue'
  | 'lock'
  | 'unlock'
  | 'register'
  | 'beat'
  | 'deregister'
  | 'limits'
  | 'time'
  | 'fault';

/** One event of a simulation: a transaction of the store, or something that befalls a process, a clock or a wire. */
export interface Happening {
  kind: HappeningKind;
  who: string;
  what: string;
  lease?: Lease;
  outcome?: Outcome;
  claim?: Claim;
}

/** What is true of a process, whatever the store believes. */
export interface ProcessTruth {
  readonly id: string;
  readonly guardedBy: GuardedBy;
  /** It lives, its guard connection is open, and it is registered. */
  readonly isPresent: boolean;
  readonly slices: readonly { readonly lease: Lease }[];
}

/** A rule was broken; the message says which, and of what job. */
export class Violation extends Error {}

import type { Tx } from '../../lib/postgres/db.ts';

export interface Scope {
  tenantId: string;
  /** Given for members: only what is their own counts. */
  ownerId?: string | undefined;
}

export interface Period {
  since: Date;
  stepSeconds: number;
}

/** Something that waits for a person. */
export interface Attention {
  /** What it is, as the console has words for it: `uploads_in_review`, `connectors_failing`. */
  kind: string;
  /** Separates things of one kind that need different actions: an error code. */
  code: string | null;
  count: number;
  oldestAt: Date | null;
  /** Where it is, when it is a single thing. */
  subjectId: string | null;
}

/** How a house reports what waits for a person. It reads by index only: the overview asks every few seconds. */
export type AttentionSource = (tx: Tx, scope: Scope, period: Period) => Promise<Attention[]>;

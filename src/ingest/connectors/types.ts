import type { Plan } from '../../kernel/tenancy/types.ts';

export const pipelineName = 'sync';
/** How many retries a sync has over all classes of errors. */
export const maxRetries = 5;

/** What to do when somebody else's sync is already running on the connection. */
export const activeSyncPolicies = ['adopt', 'fail', 'skip'] as const;
export type ActiveSyncPolicy = (typeof activeSyncPolicies)[number];

export interface ConnectorKey {
  tenantId: string;
  connectorId: string;
}

/** What the database fills in. */
interface Scheduled {
  nextSyncAt: Date;
  lastTickAt: Date;
  lastNotice: Notice | null;
  createdAt: Date;
  updatedAt: Date;
  /** The plan that `nextSyncAt` was computed with. */
  plannedFor: string;
}

/** A tenant's Airbyte connection. */
export interface Connector extends ConnectorKey, Scheduled {
  name: string;
  airbyteConnectionId: string;
  externalAccountId: string;
  enabled: boolean;
  /** Null: as often as the plan allows. */
  cadenceHours: number | null;
  /** Five fields, instead of a cadence; null: by cadence. */
  cron: string | null;
  timeZone: string;
  minIntervalSeconds: number | null;
  onActiveSync: ActiveSyncPolicy;
  /** A server of the tenant's own; null: the one of the installation. */
  airbyteServer: string | null;
  /** The workspace of Airbyte that it belongs to, as far as Airbyte has said. */
  airbyteWorkspaceId: string | null;
  /** Its place in the cadence, from 0 to 1. */
  jitter: number;
  createdBy: string;
  /** The tenant's current plan. */
  plan: Plan;
}

export interface NewConnector extends Omit<Connector, keyof Scheduled> {
  /** From now to the first sync. */
  firstSyncInMs: number;
}

/** What Airbyte's webhook said last. Anybody who knows the address can send it, so it is only a hint. */
export interface Notice {
  runId: string;
  success: boolean | null;
  errorMessage: string | null;
  errorType: string | null;
  recordsCommitted: number | null;
  bytesCommitted: number | null;
  receivedAt: string;
}

export const enrolmentModes = ['open', 'operator'] as const;
export type EnrolmentMode = (typeof enrolmentModes)[number];

/** The numbers that govern syncs, from the settings. */
export interface SyncPolicy {
  retryBaseMs: number;
  /** How long after a trigger without a response its run may still appear. */
  lostTriggerMs: number;
  minIntervalMs: number;
  pollMs: number;
  deadlineMs: number;
  accountLimit: number;
  accountWindowMs: number;
  /** How many syncs run at once; null: any number. */
  maxRunning: number | null;
  maxRunningPerWorkspace: number | null;
}

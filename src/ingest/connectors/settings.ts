import { z } from 'zod';
import {
  fraction,
  type Kind,
  oneOf,
  secretText,
  text,
  urlOf,
  wholeNumber,
} from '../../lib/settings/setting-kinds.ts';
import { type SettingValues, setting } from '../../lib/settings/settings.ts';
import { enrolmentModes } from './types.ts';

/** What fits into a header; blanks and line breaks often come along when it is copied. */
const credential: Kind<string> = {
  schema: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]{1,8000}$/),
  allowed: '1 to 8000 printable characters without blanks',
};

export const connectorSettings = {
  airbyteBaseUrl: setting(
    'AIRBYTE_BASE_URL',
    urlOf({ schemes: ['https', 'http'], example: 'https://api.airbyte.com/v1' }),
    {
      default: 'https://api.airbyte.com/v1',
      describe: 'The address of the public API of the Airbyte that runs the syncs.',
    },
  ),
  airbyteApiToken: setting('AIRBYTE_API_TOKEN', credential, {
    secret: 'whole',
    describe: 'A token for Airbyte. Tokens expire; AIRBYTE_CLIENT_ID and AIRBYTE_CLIENT_SECRET do not.',
  }),
  airbyteClientId: setting('AIRBYTE_CLIENT_ID', credential, {
    describe: 'The client id of the application that stands for Sluice in Airbyte, instead of a token.',
  }),
  airbyteClientSecret: setting('AIRBYTE_CLIENT_SECRET', credential, {
    secret: 'whole',
    describe: 'The secret of AIRBYTE_CLIENT_ID.',
  }),
  airbyteWorkspaceId: setting('AIRBYTE_WORKSPACE_ID', text({ max: 200 }), {
    describe: 'The workspace whose connections the operator lists and imports.',
  }),
  airbyteWebhookSecret: setting('AIRBYTE_WEBHOOK_SECRET', secretText({ minBytes: 16 }), {
    secret: 'whole',
    describe:
      'The secret in the address that Airbyte’s notifications are sent to. Unset: derived from the secret of tokens.',
  }),
  airbyteConcurrency: setting('AIRBYTE_CONCURRENCY', wholeNumber({ min: 1, max: 256 }), {
    default: 4,
    describe:
      'How many syncs of one process talk to Airbyte at a time; fewer than SLUICE_WORKER_CONCURRENCY.',
  }),
  airbyteRequestsPerSecond: setting('AIRBYTE_REQUESTS_PER_SECOND', wholeNumber({ min: 1, max: 1_000 }), {
    default: 20,
    describe:
      'How many slices of syncs one process starts per second; with many syncs each is polled less often.',
  }),
  connectorEnrolment: setting('CONNECTOR_ENROLMENT', oneOf(...enrolmentModes), {
    default: 'open',
    describe:
      'Who enrols connections: `open` lets a tenant’s admin name any id, `operator` is for shared workspaces.',
  }),
  syncRetryBaseSeconds: setting('SYNC_RETRY_BASE_SECONDS', fraction({ min: 0, max: 3_600 }), {
    default: 60,
    describe: 'The first delay before a sync is tried again; each further one is twice as long.',
  }),
  syncLostTriggerSeconds: setting('SYNC_LOST_TRIGGER_SECONDS', fraction({ min: 0, max: 3_600 }), {
    default: 30,
    describe:
      'How long Sluice looks for the run of a trigger without a response, before it triggers again or leaves a ' +
      'canceled sync. A busy Airbyte may take up to a minute; usually it takes a few seconds.',
  }),
  syncMaxRunning: setting('SYNC_MAX_RUNNING', wholeNumber({ min: 1, max: 100_000 }), {
    describe:
      'How many syncs of this installation run at once; the others wait. Unset: as many as there are.',
  }),
  syncMaxRunningPerWorkspace: setting(
    'SYNC_MAX_RUNNING_PER_WORKSPACE',
    wholeNumber({ min: 1, max: 100_000 }),
    { describe: 'The same for each workspace of Airbyte.' },
  ),
  syncMinIntervalSeconds: setting('SYNC_MIN_INTERVAL_SECONDS', fraction({ min: 0, max: 86_400 }), {
    default: 60,
    describe: 'The least time between two triggers of one connector; a connector’s own may be longer.',
  }),
  syncPollSeconds: setting('SYNC_POLL_SECONDS', fraction({ min: 0.1, max: 3_600 }), {
    default: 10,
    describe: 'How often a running sync is polled; long ones up to six times less often.',
  }),
  syncDeadlineHours: setting('SYNC_DEADLINE_HOURS', fraction({ min: 0.001, max: 720 }), {
    default: 24,
    describe: 'How long a run of Airbyte is followed before the sync becomes a dead letter.',
  }),
  syncAccountLimit: setting('SYNC_ACCOUNT_LIMIT', wholeNumber({ min: 1, max: 1_000 }), {
    default: 10,
    describe: 'How many syncs of one external account of a tenant start per window, over all workers.',
  }),
  syncAccountWindowSeconds: setting(
    'SYNC_ACCOUNT_WINDOW_SECONDS',
    wholeNumber({ min: 1, max: 86_400, unit: 'seconds' }),
    {
      default: 60,
      describe: 'The window of SYNC_ACCOUNT_LIMIT.',
    },
  ),
};

export type ConnectorConfig = SettingValues<typeof connectorSettings>;

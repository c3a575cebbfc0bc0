import { z } from 'zod';
import { isTimeZone } from '../../kernel/schedule/cron.ts';
import { isUsableId } from '../../kernel/tenancy/types.ts';
import { toCamelCase } from '../../lib/snake-case.ts';
import { hasHiddenCharacters, isConnectionId } from './connection-id.ts';
import type { ConnectorWish } from './service.ts';
import { activeSyncPolicies } from './types.ts';

/** The form of a connector in a request. */
const id = z.string().min(1).refine(isUsableId, 'must be 1 to 200 characters without control characters');
/** Reserved: the words have routes of their own, and clients remove dots from a path. */
const reserved = ['status', 'import', 'preview', 'servers', '.', '..'];
const newId = id.refine((text) => !reserved.includes(text), `must not be ${reserved.join(' or ')}`);
const connectionId = id
  .refine(
    (text) => !hasHiddenCharacters(text),
    'must not begin or end with a blank, nor contain invisible characters',
  )
  .refine(isConnectionId, 'must be the UUID of a connection in Airbyte')
  .describe(
    'A UUID is stored in its canonical spelling; a connection has at most one connector over all tenants',
  );
const name = z.string().min(1).max(200).refine(isUsableId, 'must not contain control characters');

export const connectorFormParts = { id, name };

export const changeFields = {
  name: name.optional(),
  external_account_id: id.optional(),
  enabled: z.boolean().optional(),
  cadence_hours: z
    .number()
    .positive()
    .max(8_760)
    .nullable()
    .describe('Null: as often as the plan allows')
    .optional(),
  cron: z
    .string()
    .min(1)
    .max(200)
    .nullable()
    .describe('Five fields, such as `0 6 * * 1-5`; instead of cadence_hours')
    .optional(),
  time_zone: z
    .string()
    .min(1)
    .max(100)
    .refine(isTimeZone, 'must be a time zone, such as Europe/Berlin or UTC')
    .describe('Of cron; UTC unless given')
    .optional(),
  min_interval_seconds: z.int().min(0).max(604_800).nullable().optional(),
  on_active_sync: z.enum(activeSyncPolicies).optional(),
};

export const connectorFields = {
  ...changeFields,
  connector_id: newId.optional(),
  name,
  airbyte_connection_id: connectionId,
  airbyte_server: id
    .describe('A server of the tenant’s own; left out: the one of this installation')
    .optional(),
  external_account_id: id,
};

export function wishOf(body: z.output<z.ZodObject<typeof connectorFields>>): ConnectorWish {
  return toCamelCase(body);
}

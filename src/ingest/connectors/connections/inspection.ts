import type { AirbyteClient, AirbyteConnection, AirbyteProblem } from '../airbyte/types.ts';
import { connectorErrors } from '../errors.ts';

/** Something about a new connector that a person should know, though it was enrolled. */
export interface EnrolmentWarning {
  code: 'connection_inactive' | 'connection_scheduled' | 'connection_unchecked';
  message: string;
}

export interface Inspection {
  warnings: EnrolmentWarning[];
  workspaceId: string | null;
}

const timeoutMs = 10_000;
const deleted = 'deprecated';

/**
 * Looks a connection up before it is enrolled. One that Airbyte does not know is refused here, not at its first sync;
 * an Airbyte that is away is no reason to refuse one.
 */
export async function inspectConnection(
  client: AirbyteClient | null,
  connectionId: string,
): Promise<Inspection> {
  if (client === null) return { warnings: [], workspaceId: null };
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await client.getConnection(connectionId, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return null;
  });
  if (answer === null) return unchecked(`it did not respond within ${timeoutMs / 1000} s`);
  if (answer.type === 'ok') {
    return { warnings: warningsAbout(answer.value), workspaceId: answer.value.workspaceId };
  }
  if (await isUnknown(client, answer.problem)) throw unknown(connectionId);
  return unchecked(answer.problem.message);
}

function warningsAbout({ connectionId, status, scheduleType }: AirbyteConnection): EnrolmentWarning[] {
  if (status === deleted) throw unknown(connectionId);
  const warnings: EnrolmentWarning[] = [];
  if (status !== 'active') {
    const message = `The connection is ${status} in Airbyte: its syncs fail until somebody activates it there`;
    warnings.push({ code: 'connection_inactive', message });
  }
  if (scheduleType !== null && scheduleType !== 'manual') {
    const message =
      `Airbyte runs the connection by a schedule of its own (${scheduleType}), beside the one here: ` +
      'set its schedule in Airbyte to manual';
    warnings.push({ code: 'connection_scheduled', message });
  }
  return warnings;
}

/** A connection of another workspace is forbidden rather than missing; then the credentials still work elsewhere. */
async function isUnknown(client: AirbyteClient, problem: AirbyteProblem): Promise<boolean> {
  if (problem.class === 'permanent') return true;
  return problem.code === 'forbidden' && (await client.probe()).type === 'ok';
}

function unknown(connectionId: string): Error {
  return connectorErrors.raise.connection_unknown(`Airbyte knows no connection ${connectionId}`, {
    fields: [{ pointer: '/airbyte_connection_id', message: 'must be the id of a connection in Airbyte' }],
  });
}

function unchecked(reason: string): Inspection {
  const message = `Airbyte could not be asked whether the connection exists: ${reason}`;
  return { warnings: [{ code: 'connection_unchecked', message }], workspaceId: null };
}

import type { Logger } from '../../../lib/log.ts';
import type { AirbyteAnswer, AirbyteClient, AirbyteProblem } from './types.ts';

export const airbyteStates = [
  'ok',
  'not_configured',
  'wrong_address',
  'credentials_refused',
  'workspace_unknown',
  'unreachable',
] as const;
export type AirbyteState = (typeof airbyteStates)[number];

export interface AirbyteFinding {
  state: AirbyteState;
  message: string;
  /** What to do; empty when all is well. */
  remedy: string;
}

const remedies: Record<AirbyteState, string> = {
  ok: '',
  not_configured: 'Set AIRBYTE_API_TOKEN, or AIRBYTE_CLIENT_ID and AIRBYTE_CLIENT_SECRET.',
  wrong_address: 'Set AIRBYTE_BASE_URL to the address of the API, such as https://api.airbyte.com/v1.',
  credentials_refused:
    'Set AIRBYTE_API_TOKEN, or AIRBYTE_CLIENT_ID and AIRBYTE_CLIENT_SECRET, to valid credentials.',
  workspace_unknown: 'Set AIRBYTE_WORKSPACE_ID to a workspace that these credentials may see.',
  unreachable: 'Start Airbyte, and check AIRBYTE_BASE_URL and whether this machine may connect to it.',
};

/** Asks Airbyte whether address, credentials and workspace are right, and tells them apart. */
export async function checkAirbyte(
  client: AirbyteClient | null,
  { workspaceId, signal }: { workspaceId: string | null; signal?: AbortSignal },
): Promise<AirbyteFinding> {
  if (client === null) return found('not_configured', 'No credentials for Airbyte are set');
  const options = signal === undefined ? {} : { signal };
  const probed = await client.probe(options);
  if (probed.type !== 'ok') return ofProblem(probed.problem);
  if (workspaceId === null) return found('ok', 'Airbyte responds and accepts the credentials');
  if (await hasWorkspace(client, { workspaceId, options })) {
    return found('ok', 'Airbyte responds, accepts the credentials and knows the workspace');
  }
  return found('workspace_unknown', `Airbyte shows no workspace ${workspaceId} to these credentials`);
}

/** An older server may not offer the workspace by its id; then its connections tell. */
async function hasWorkspace(
  client: AirbyteClient,
  { workspaceId, options }: { workspaceId: string; options: { signal?: AbortSignal } },
): Promise<boolean> {
  const direct = await client.getWorkspace(workspaceId, options);
  if (direct.type === 'ok' || isRefusal(direct)) return direct.type === 'ok';
  const listed = await client.listConnections({ workspaceId, limit: 1, offset: 0 }, options);
  return !isRefusal(listed);
}

function isRefusal(answer: AirbyteAnswer<unknown>): boolean {
  return answer.type !== 'ok' && ['auth', 'permanent', 'conflict'].includes(answer.problem.class);
}

function ofProblem({ class: kind, message }: AirbyteProblem): AirbyteFinding {
  if (kind === 'auth') return found('credentials_refused', `Airbyte refuses the credentials: ${message}`);
  if (kind === 'address')
    return found('wrong_address', `What responds is not the API of Airbyte: ${message}`);
  return found('unreachable', `Airbyte does not respond as it should: ${message}`);
}

function found(state: AirbyteState, message: string): AirbyteFinding {
  return { state, message, remedy: remedies[state] };
}

const maxAgeMs = 30_000;
/** Somebody waits for the page. */
const patienceMs = 5_000;

/** What this process found when it last asked: at its start, and when somebody looks at the connectors. */
export class AirbyteWatch {
  readonly #deps: { client: AirbyteClient | null; workspaceId: string | null; logger: Logger };
  readonly #closing = new AbortController();
  #latest: { finding: AirbyteFinding; at: Date } | null = null;
  #asking: Promise<{ finding: AirbyteFinding; at: Date }> | null = null;

  constructor(deps: { client: AirbyteClient | null; workspaceId: string | null; logger: Logger }) {
    this.#deps = deps;
  }

  /** Says in the log what is wrong, without holding anything up. */
  start(): void {
    if (this.#deps.client === null) return;
    this.look().then(
      ({ finding }) => this.#report(finding),
      (error: unknown) =>
        this.#deps.logger.debug({ err: error }, 'Airbyte could not be checked at the start'),
    );
  }

  look(): Promise<{ finding: AirbyteFinding; at: Date }> {
    if (this.#latest && Date.now() - this.#latest.at.getTime() < maxAgeMs)
      return Promise.resolve(this.#latest);
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  close(): void {
    this.#closing.abort(new Error('The connectors are being closed'));
  }

  async #ask(): Promise<{ finding: AirbyteFinding; at: Date }> {
    const { client, workspaceId } = this.#deps;
    const late = AbortSignal.timeout(patienceMs);
    const signal = AbortSignal.any([this.#closing.signal, late]);
    const finding = await checkAirbyte(client, { workspaceId, signal }).catch((error: unknown) => {
      if (!late.aborted) throw error;
      return found('unreachable', `Airbyte did not respond within ${patienceMs / 1000} s`);
    });
    this.#latest = { finding, at: new Date() };
    return this.#latest;
  }

  #report({ state, message, remedy }: AirbyteFinding): void {
    const { logger } = this.#deps;
    if (state === 'ok') logger.info(message);
    else logger.error({ alert: `airbyte_${state}` }, `${message} ${remedy}`);
  }
}

import { newTenant, type TestDatabase } from '../worlds/database.ts';
import { eventually } from '../worlds/kernel.ts';
import { apiCaller } from './api-caller.ts';
import type { ServerProcess } from './server-process.ts';

export interface Stage {
  tenantId: string;
  workspaceId: string;
}

export interface SourceView {
  source_id: string;
  state: string;
  last_error: string | null;
  last_error_code: string | null;
  last_job_id: string;
  last_result: {
    message: string;
    upload_ids: string[];
    unchanged: number;
    range: { from: string; to: string } | null;
  };
}

/** Where a platform's clicks belong: all of them, or those to the destination. */
export type ClicksColumn = 'clicks' | 'link_clicks';

const figures = ['impressions', 'clicks', 'spend', 'conversions', 'conversion_value'] as const;

/** Sources of uploads over HTTP: pulled by a server process that works. */
export function usePulls(server: Pick<ServerProcess, 'url' | 'bearer'>, database: TestDatabase) {
  const call = apiCaller<Record<string, never>>(server);
  async function newStage(): Promise<Stage> {
    const tenantId = await newTenant(database, 'enterprise');
    const reply = await call({ tenantId }, '/api/workspaces');
    const [first] = (reply.body as unknown as { data: { workspace_id: string }[] }).data;
    if (first !== undefined) return { tenantId, workspaceId: first.workspace_id };
    const made = await ok<{ workspace_id: string }>({ tenantId }, '/api/workspaces', { name: 'Main' });
    return { tenantId, workspaceId: made.workspace_id };
  }

  async function ok<Body>(
    claims: { tenantId: string },
    route: string,
    body?: object,
    method?: string,
  ): Promise<Body> {
    const reply = await call(
      claims,
      route,
      body ? { method: method ?? 'POST', body } : { method: method ?? 'GET' },
    );
    if (reply.status >= 300) throw new Error(`${route} answered ${reply.status}: ${reply.text}`);
    return reply.body as unknown as Body;
  }

  async function storeSecret(claims: Stage, name: string, { value, host }: { value: string; host: string }) {
    await ok(claims, `/api/secrets/${name}`, { value, hosts: [host] }, 'PUT');
  }

  async function newSource(stage: Stage, place: object, more: object = {}): Promise<SourceView> {
    return ok(stage, '/api/uploads/sources', {
      name: 'Shop',
      workspace_id: stage.workspaceId,
      place,
      ...more,
    });
  }

  /** Pulls, and returns the source when the pull has ended. */
  async function pull(stage: Stage, { source_id: id }: SourceView, body: object = {}): Promise<SourceView> {
    const { job_id: jobId } = await ok<{ job_id: string }>(stage, `/api/uploads/sources/${id}/pull`, body);
    const hasEnded = async () => {
      const job = await ok<{ status: string }>(stage, `/api/jobs/${jobId}`);
      return ['success', 'dead_letter'].includes(job.status);
    };
    await eventually(hasEnded, 'the pull has ended', 60_000);
    return ok(stage, `/api/uploads/sources/${id}`);
  }

  /** Waits until all uploads have ended, and returns them. */
  async function uploads(stage: Stage) {
    let found: Record<string, unknown>[] = [];
    const haveEnded = async () => {
      const { data } = await ok<{ data: Record<string, unknown>[] }>(stage, '/api/uploads');
      found = data;
      return data.every(({ status }) => ['completed', 'partial', 'failed'].includes(String(status)));
    };
    await eventually(haveEnded, 'the uploads have ended', 60_000);
    return found;
  }

  const stored = (stage: Stage, from: string, to: string, clicks?: ClicksColumn) =>
    storedIn(database, stage, { from, to, clicks });

  return { call, ok, newStage, storeSecret, newSource, pull, uploads, stored };
}

/** What is stored of these days, added up here. */
async function storedIn(
  database: TestDatabase,
  { tenantId }: Stage,
  { from, to, clicks = 'clicks' }: { from: string; to: string; clicks?: ClicksColumn | undefined },
) {
  const columnOf = (name: string) => (name === 'clicks' ? clicks : name);
  const [row] = await database.owner<Record<string, string>>(
    `select ${figures.map((name) => `coalesce(sum(${columnOf(name)}), 0)::float8 as ${name}`).join(', ')}
       from daily_metrics where tenant_id = $1 and metric_date between $2 and $3`,
    [tenantId, from, to],
  );
  return Object.fromEntries(figures.map((name) => [name, Math.round(Number(row?.[name]) * 100) / 100]));
}

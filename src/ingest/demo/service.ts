import { createHmac } from 'node:crypto';
import type { Ground } from '../../kernel/house/house.ts';
import { findDemo, forgetErasure, setDemoPort } from '../../kernel/tenancy/demo-store.ts';
import { eraseTenant } from '../../kernel/tenancy/erasure.ts';
import { tenantHashOf } from '../../kernel/tenancy/provisioning.ts';
import { createTenant } from '../../kernel/tenancy/service.ts';
import { isSluiceError } from '../../lib/errors.ts';
import { demoErrors } from './errors.ts';
import type { DemoPeers } from './peers/server.ts';
import { enrolConnectors } from './seed/connectors.ts';
import { fillBases } from './seed/knowledge.ts';
import { sendReports } from './seed/reports.ts';
import { sendRows } from './seed/rows.ts';
import { startCrawl } from './seed/scrapes.ts';
import { type DemoCall, type DemoGround, demoTenant } from './types.ts';

export interface DemoDeps extends Pick<Ground, 'db' | 'files' | 'logger' | 'secret'> {
  peers: DemoPeers;
}

export type DemoState = 'absent' | 'present' | 'name_taken';

const { tenantId } = demoTenant;
const erasureAttempts = 5;

export async function readDemo({ db }: Pick<DemoDeps, 'db'>): Promise<DemoState> {
  const demo = await db.kernel((tx) => findDemo(tx, tenantId));
  if (demo === null) return 'absent';
  return demo.port === null ? 'name_taken' : 'present';
}

/** Makes the tenant and fills all five pipelines. A start that was interrupted goes on with what is missing. */
export async function startDemo(deps: DemoDeps, call: DemoCall): Promise<void> {
  const port = await placePeers(deps);
  const { data } = await call({ method: 'GET', path: '/api/workspaces' });
  const [workspace] = data as { workspace_id: string }[];
  const ground: DemoGround = {
    call,
    host: `127.0.0.1:${port}`,
    token: demoToken(deps.secret),
    workspaceId: workspace?.workspace_id ?? '',
  };
  if (await isFilled(call)) return;
  // What takes longest comes first.
  for (const fill of [fillBases, sendRows, startCrawl, sendReports, enrolConnectors]) await fill(ground);
  deps.logger.info({ tenant_id: tenantId }, 'the demo was filled');
}

/** Connectors come last, so with the last of them everything is there. */
async function isFilled(call: DemoCall): Promise<boolean> {
  const { data } = await call({ method: 'GET', path: '/api/connectors' });
  return (data as unknown[]).length >= 3;
}

/** Leaves nothing: not the tenant, not its files, not the mark that keeps erased tenants from coming back. */
export async function removeDemo({ db, files, peers }: DemoDeps): Promise<void> {
  if ((await readDemo({ db })) !== 'present') {
    throw demoErrors.raise.demo_not_found('There is no demo on this installation');
  }
  await eraseAtWork({ db, files });
  await db.kernel((tx) => forgetErasure(tx, tenantHashOf(tenantId)));
  await peers.close();
}

/** The demo's slices go on while it is erased. What collides with one of them is done again: it can be repeated. */
async function eraseAtWork(deps: Pick<DemoDeps, 'db' | 'files'>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return void (await eraseTenant(deps, tenantId));
    } catch (error) {
      const isGone = isSluiceError(error) && error.code === 'tenant_not_found';
      if (attempt > 1 && isGone) return;
      if (isSluiceError(error) || attempt >= erasureAttempts) throw error;
    }
  }
}

/** The same after a restart, because connectors keep it as a secret. */
export function demoToken(secret: string): string {
  return createHmac('sha256', secret).update('sluice demo airbyte').digest('base64url');
}

/** The tenant, and its servers on a port that is remembered: jobs and connectors name it. */
async function placePeers({ db, peers }: DemoDeps): Promise<number> {
  const demo = await db.kernel((tx) => findDemo(tx, tenantId));
  if (demo?.port === null) {
    throw demoErrors.raise.demo_name_taken(`The tenant ${tenantId} exists already and is not a demo`);
  }
  if (demo !== null) {
    await keepPeers({ db, peers });
    return demo.port;
  }
  const port = await peers.open(null);
  if (port === null) throw new Error('The machine has no free port for the servers of the demo');
  await createTenant(db, { ...demoTenant, plan: 'enterprise' }, (tx) => setDemoPort(tx, { tenantId, port }));
  return port;
}

/** Opens the demo's servers in this process unless they are open, here or in another process of this machine. */
export async function keepPeers({ db, peers }: Pick<DemoDeps, 'db' | 'peers'>): Promise<{ open: number }> {
  const demo = await db.kernel((tx) => findDemo(tx, tenantId));
  if (demo === null || demo.port === null) await peers.close();
  else if (!peers.isOpen) await peers.open(demo.port);
  return { open: peers.isOpen ? 1 : 0 };
}

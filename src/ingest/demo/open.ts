import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import type { TokenSettings } from '../../kernel/tenancy/tokens.ts';
import { DemoPeers } from './peers/server.ts';
import { demoRoutes } from './routes.ts';
import { demoToken, keepPeers } from './service.ts';

export interface DemoHouseOptions extends Pick<Ground, 'db' | 'files' | 'logger' | 'secret'> {
  tokens: TokenSettings;
}

const lookEveryMs = 5_000;

export interface DemoHouse extends OpenHouse {
  /** Opens the demo’s servers in this process if there is a demo. */
  keep(): Promise<unknown>;
}

export function openDemoHouse(options: DemoHouseOptions): DemoHouse {
  const peers = new DemoPeers(demoToken(options.secret));
  const deps = { ...options, peers };
  return {
    keep: () => keepPeers(deps),
    routes: [demoRoutes(deps)],
    // The process that had the demo's servers may have ended.
    tasks: [{ name: 'keep_demo', everyMs: lookEveryMs, run: () => keepPeers(deps) }],
    close: () => peers.close(),
  };
}

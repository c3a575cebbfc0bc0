/** The demo is one tenant, on every installation the same one. */
export const demoTenant = { tenantId: 'northwind', name: 'Northwind Traders' } as const;

/** Whoever opens the demo acts as this user. */
export const demoAdmin = { tenantId: demoTenant.tenantId, userId: 'demo', role: 'admin' } as const;

/** Sends one request to the API of this process as the demo's admin, and returns the body of the reply. */
export type DemoCall = (request: {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  body?: object | FormData;
  /** The same request with the same key has its effect once: a start may be repeated. */
  key?: string;
  /** What may be there already, from a start that was interrupted. */
  allow?: readonly number[];
}) => Promise<Record<string, unknown>>;

/** What the steps that fill the demo work with. */
export interface DemoGround {
  call: DemoCall;
  /** Where the demo's own servers listen: `127.0.0.1:41234`. */
  host: string;
  /** What the demo Airbyte takes for a token. */
  token: string;
  workspaceId: string;
}

import type { TestClaims } from '../support/servers/server.ts';
import type { Product } from './product.ts';

/** Logs in with a browser of that name; the id of the session. */
export async function openSession(product: Product, claims: TestClaims, agent: string): Promise<string> {
  const { authorization = '' } = await product.bearer(claims);
  const body = { token: authorization.replace('Bearer ', '') };
  const headers = { 'user-agent': agent };
  await product.ask(null, { method: 'POST', path: '/api/session', body, headers });
  const { body: found } = await product.ask(claims, { path: '/api/me/sessions' });
  return (found.data as { session_id: string }[])[0]?.session_id ?? '';
}

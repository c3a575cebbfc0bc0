import type { TestClaims } from '../support/servers/server.ts';
import type { Place, Sent, Turn } from './each-string.ts';

interface Means {
  made(claims: TestClaims, path: string, body: unknown): Promise<Record<string, unknown>>;
  firstRow(statement: string, id: unknown): Promise<Record<string, unknown>>;
}

/** Where the texts of webhook endpoints can be found again. */
export function webhookPlaces({ made, firstRow }: Means): Record<string, Place> {
  const field = (column: string, id: unknown) =>
    firstRow(`select ${column} as value from webhook_endpoints where webhook_id = $1`, id);
  const ofMade =
    (column: string) =>
    async ({ told }: Sent) =>
      (await field(column, told.body.webhook_id)).value;
  const newEndpoint = async ({ claims }: Turn) => {
    const { webhook_id: id } = await made(claims, '/api/webhooks', { url: 'https://example.com/hook' });
    return { webhook_id: String(id) };
  };
  const url = { back: ofMade('url'), why: 'most strings are no addresses' };
  const type = { back: ofMade('event_types[1]'), why: 'most strings are no types of events' };
  const description = { back: ofMade('description') };
  const changing = (place: Place): Place => ({ ...place, params: newEndpoint, isAlike: true });
  return {
    'POST /api/webhooks /url': url,
    'POST /api/webhooks /event_types/0': type,
    'POST /api/webhooks /description': description,
    'PATCH /api/webhooks/:webhook_id /url': changing(url),
    'PATCH /api/webhooks/:webhook_id /event_types/0': changing(type),
    'PATCH /api/webhooks/:webhook_id /description': changing(description),
  };
}

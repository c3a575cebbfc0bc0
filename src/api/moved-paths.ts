/** Where operations were before: `/api/webhooks/deliveries/{id}` could also be read as a webhook named deliveries. */
const moved: readonly { from: string; to: string }[] = [
  { from: '/api/connectors/servers', to: '/api/airbyte-servers' },
  { from: '/api/webhooks/deliveries', to: '/api/webhook-deliveries' },
];

/** The URL of a request as it is routed. Callers of the old addresses are served as before. */
export function routedUrl(url: string): string {
  for (const { from, to } of moved) {
    if (url.startsWith(from) && /^[/?]|^$/.test(url.slice(from.length))) return to + url.slice(from.length);
  }
  return url;
}

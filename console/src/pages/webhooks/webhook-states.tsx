import type { Webhook, WebhookDelivery } from '../../api/types.ts';
import { StatusChip } from '../../parts/status-chip.tsx';

export function EndpointState({ webhook }: { webhook: Webhook }) {
  if (!webhook.enabled) return <StatusChip status="disabled" />;
  if (webhook.failing_since !== null) return <StatusChip status="failed" word="failing" />;
  if (webhook.failures_in_row > 0) return <StatusChip status="retrying" />;
  return <StatusChip status="enabled" />;
}

export function DeliveryState({ delivery }: { delivery: Pick<WebhookDelivery, 'status' | 'attempts'> }) {
  const isRetrying = delivery.status === 'pending' && delivery.attempts > 0;
  return <StatusChip status={isRetrying ? 'retrying' : delivery.status} />;
}

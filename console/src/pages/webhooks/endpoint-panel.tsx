import { Button } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Webhook, WebhookWithSecret } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';
import { Deliveries } from './deliveries.tsx';
import { EditEndpointDialog } from './new-endpoint-dialog.tsx';
import { EndpointState } from './webhook-states.tsx';

interface Props {
  webhook: Webhook;
  onSecret: (made: WebhookWithSecret) => void;
}

export function EndpointPanel({ webhook, onSecret }: Props) {
  const [isEditing, setEditing] = useState(false);
  return (
    <Panel title={webhook.url} aside={<EndpointState webhook={webhook} />}>
      <div className="stack">
        <Standing webhook={webhook} />
        <div className="row">
          <EndpointActions webhook={webhook} onSecret={onSecret} onEdit={() => setEditing(true)} />
        </div>
        <Deliveries webhookId={webhook.webhook_id} />
      </div>
      {isEditing ? <EditEndpointDialog webhook={webhook} onClose={() => setEditing(false)} /> : null}
    </Panel>
  );
}

/** What is wrong, and what happens next. */
function Standing({ webhook }: { webhook: Webhook }) {
  if (!webhook.enabled) {
    return (
      <p>
        {webhook.disabled_reason ?? 'Somebody switched it off.'}{' '}
        {webhook.disabled_at === null ? null : <Ago at={webhook.disabled_at} />} Nothing is lost: deliveries
        continue where they stopped when it is switched on.
      </p>
    );
  }
  if (webhook.failures_in_row > 0) {
    return (
      <p>
        {plural(webhook.failures_in_row, 'try', 'tries')} failed since the last delivery that was received.
        Retries continue by themselves for three days; “Try now” does not wait.
      </p>
    );
  }
  return (
    <p className="dim">
      Last received <Ago at={webhook.last_success_at} empty="never" />.
    </p>
  );
}

function EndpointActions({ webhook, onSecret, onEdit }: Props & { onEdit: () => void }) {
  const { webhook_id } = webhook;
  const path = { webhook_id };
  const touches = ['webhooks'] as const;
  const test = useAction({
    run: () => api.post('/api/webhooks/{webhook_id}/test', { path }),
    done: () => 'A test event is on its way.',
    touches,
  });
  const change = useAction({
    run: (enabled: boolean) => api.patch('/api/webhooks/{webhook_id}', { path, body: { enabled } }),
    done: ({ enabled }) => (enabled ? 'Waiting deliveries are being sent now.' : 'It is switched off.'),
    touches,
  });
  const rotate = useAction({
    run: () => api.post('/api/webhooks/{webhook_id}/rotate-secret', { path }),
    done: () => 'Created a new secret. The old one also signs for 24 hours.',
    touches,
    afterwards: onSecret,
  });
  const remove = useAction({
    run: () => api.delete('/api/webhooks/{webhook_id}', { path }),
    done: () => 'Deleted the endpoint and its deliveries.',
    touches,
  });
  const askToRemove = async () => {
    const consequence = 'Events that are not delivered yet will never be delivered to it.';
    if (
      await confirm({ title: 'Delete the endpoint?', consequence, action: 'Delete endpoint', isDanger: true })
    )
      remove.run();
  };
  const isTryNow = webhook.enabled && webhook.failures_in_row > 0;
  return (
    <>
      <Button onClick={() => test.run()} loading={test.isRunning} disabled={!webhook.enabled}>
        Send test event
      </Button>
      {isTryNow ? (
        <Button variant="default" onClick={() => change.run(true)} loading={change.isRunning}>
          Try now
        </Button>
      ) : null}
      <Button variant="default" onClick={() => change.run(!webhook.enabled)} loading={change.isRunning}>
        {webhook.enabled ? 'Switch off' : 'Switch on'}
      </Button>
      <Button variant="default" onClick={onEdit}>
        Change
      </Button>
      <Button variant="default" onClick={() => rotate.run()} loading={rotate.isRunning}>
        Rotate secret
      </Button>
      <Button variant="default" color="red" onClick={() => void askToRemove()}>
        Delete
      </Button>
    </>
  );
}

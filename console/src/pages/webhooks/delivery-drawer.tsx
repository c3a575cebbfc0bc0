import { Button, Drawer } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { WebhookDeliveryDetail } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { Id } from '../../parts/command.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Clock, Duration } from '../../parts/time.tsx';
import { DeliveryState } from './webhook-states.tsx';

export function DeliveryDrawer(props: { deliveryId: string | undefined; onClose: () => void }) {
  const { deliveryId, onClose } = props;
  return (
    <Drawer opened={deliveryId !== undefined} onClose={onClose} position="right" size="lg" title="Delivery">
      {deliveryId === undefined ? null : <Detail deliveryId={deliveryId} />}
    </Drawer>
  );
}

function Detail({ deliveryId }: { deliveryId: string }) {
  const path = { delivery_id: deliveryId };
  const { data, error, refetch } = useQuery({
    queryKey: ['webhooks', 'delivery', deliveryId],
    queryFn: ({ signal }) => api.get('/api/webhook-deliveries/{delivery_id}', { path, signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 3_000 : false),
  });
  const resend = useAction({
    run: () => api.post('/api/webhook-deliveries/{delivery_id}/resend', { path }),
    done: () => 'It is being sent again, with the same webhook-id.',
    touches: ['webhooks'],
  });
  if (data === undefined) {
    return error === null ? (
      <p className="dim">Loading …</p>
    ) : (
      <Problem error={error} retry={() => void refetch()} />
    );
  }
  return (
    <div className="stack">
      <div className="row">
        <DeliveryState delivery={data} /> {data.event_type}
        <Button onClick={() => resend.run()} loading={resend.isRunning}>
          {data.status === 'pending' ? 'Try now' : 'Send again'}
        </Button>
      </div>
      <dl className="facts">
        <dt>webhook-id</dt>
        <dd>
          <Id value={data.delivery_id} length={36} />
        </dd>
        <dt>Subject</dt>
        <dd>{data.subject === null ? '–' : <Id value={data.subject} length={36} />}</dd>
      </dl>
      <h3>Tries</h3>
      <Attempts attempts={data.attempt_log} />
      <h3>What is sent</h3>
      {data.body === null ? (
        <p className="dim">The event is older than the retention of the log.</p>
      ) : (
        <JsonView value={parsed(data.body)} />
      )}
    </div>
  );
}

function Attempts({ attempts }: { attempts: WebhookDeliveryDetail['attempt_log'] }) {
  if (attempts.length === 0) return <p className="dim">None yet.</p>;
  return (
    <ol className="attempts">
      {attempts.map((attempt) => (
        <li key={attempt.at}>
          <Clock at={attempt.at} />{' '}
          <span className="num">{attempt.status_code === null ? 'no response' : attempt.status_code}</span>{' '}
          after <Duration ms={attempt.duration_ms} />
          {attempt.error === null ? null : <div>{attempt.error}</div>}
          {attempt.response_body ? <pre className="small cut">{attempt.response_body}</pre> : null}
        </li>
      ))}
    </ol>
  );
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

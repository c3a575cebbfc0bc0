import { Button } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Webhook } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { Page } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';
import { EndpointPanel } from './endpoint-panel.tsx';
import { NewEndpointDialog } from './new-endpoint-dialog.tsx';
import { webhooksSearch } from './search.ts';
import { type Secret, SecretNotice } from './secret-notice.tsx';
import { EndpointState } from './webhook-states.tsx';

const rowKey = (webhook: Webhook) => webhook.webhook_id;
const sentence = 'Sends events to your own programs: signed, in order per subject, retried for three days.';

export default function WebhooksPage() {
  const mayManage = useCan('webhook.manage');
  if (!mayManage) {
    return (
      <Page title="Webhooks" sentence={sentence}>
        <p className="dim">Only admins of the tenant see and change endpoints.</p>
      </Page>
    );
  }
  return <Endpoints />;
}

function Endpoints() {
  const [{ endpoint }, change] = useListState(webhooksSearch);
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState<Secret | null>(null);
  const list = useKeysetList({
    queryKey: ['webhooks', 'list'],
    fetchPage: (cursor, signal) => api.get('/api/webhooks', { query: { cursor, limit: 100 }, signal }),
    rowKey,
    announcesNew: false,
    everyMs: 5_000,
  });
  const chosen = list.rows.find(({ webhook_id }) => webhook_id === endpoint);
  const button = <Button onClick={() => setOpen(true)}>New endpoint</Button>;
  return (
    <ListPage
      title="Webhooks"
      sentence={sentence}
      actions={button}
      notice={secret === null ? null : <SecretNotice secret={secret} onClose={() => setSecret(null)} />}
      label="Endpoints"
      columns={columns}
      rows={list.rows}
      rowKey={rowKey}
      onOpen={(row) => change({ endpoint: row.webhook_id, status: undefined, delivery: undefined })}
      openKey={endpoint}
      maxHeight="40vh"
      empty={
        <Empty
          sentence="No endpoint yet. Add the URL of your program to send it events of jobs, uploads and hand-offs."
          sample={['https://example.com/hooks/sluice', 'on', 'job.*', 'received 2 min ago']}
          button={button}
        />
      }
      list={list}
      noun="endpoints"
    >
      {chosen === undefined ? null : <EndpointPanel webhook={chosen} onSecret={setSecret} />}
      {isOpen ? (
        <NewEndpointDialog
          onClose={() => setOpen(false)}
          onMade={(made) => {
            setSecret(made);
            change({ endpoint: made.webhook_id });
          }}
        />
      ) : null}
    </ListPage>
  );
}

const columns: Column<Webhook>[] = [
  { id: 'url', header: 'Endpoint', width: 320, cell: ({ url }) => <span className="cut">{url}</span> },
  { id: 'state', header: 'State', width: 160, cell: (webhook) => <EndpointState webhook={webhook} /> },
  {
    id: 'types',
    header: 'Events',
    width: 180,
    cell: ({ event_types }) => <span className="cut">{event_types?.join(', ') ?? 'all'}</span>,
  },
  {
    id: 'success',
    header: 'Last received',
    width: 130,
    cell: ({ last_success_at }) => <Ago at={last_success_at} empty="never" />,
  },
  {
    id: 'description',
    header: 'For',
    cell: ({ description }) => <span className="cut">{description ?? ''}</span>,
  },
];

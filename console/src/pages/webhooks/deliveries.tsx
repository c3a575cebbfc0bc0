import { api } from '../../api/client.ts';
import type { WebhookDelivery } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { FilterBar, FilterSelect } from '../../parts/filter-bar.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { Ago } from '../../parts/time.tsx';
import { DeliveryDrawer } from './delivery-drawer.tsx';
import { webhooksSearch } from './search.ts';
import { DeliveryState } from './webhook-states.tsx';

const rowKey = (delivery: WebhookDelivery) => delivery.delivery_id;

export function Deliveries({ webhookId }: { webhookId: string }) {
  const [{ status, delivery }, change] = useListState(webhooksSearch);
  const list = useKeysetList({
    queryKey: ['webhooks', 'deliveries', webhookId, status ?? null],
    fetchPage: (cursor, signal) =>
      api.get('/api/webhooks/{webhook_id}/deliveries', {
        path: { webhook_id: webhookId },
        query: { status, cursor, limit: 50 },
        signal,
      }),
    rowKey,
    // Tries have no events.
    everyMs: 3_000,
  });
  return (
    <>
      <FilterBar isFiltered={status !== undefined} onReset={() => change({ status: undefined })}>
        <FilterSelect
          label="State"
          value={status}
          all="All deliveries"
          options={[
            { value: 'pending', label: 'Not delivered yet' },
            { value: 'delivered', label: 'Delivered' },
            { value: 'exhausted', label: 'Failed for good' },
          ]}
          onChange={(value) => change({ status: value })}
        />
      </FilterBar>
      <KeysetTable
        label="Deliveries"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        onOpen={(row) => change({ delivery: row.delivery_id })}
        openKey={delivery}
        empty={
          <Empty sentence="No delivery yet. The next event that this endpoint subscribes to appears here." />
        }
        list={list}
        noun="deliveries"
      />
      <DeliveryDrawer deliveryId={delivery} onClose={() => change({ delivery: undefined })} />
    </>
  );
}

const columns: Column<WebhookDelivery>[] = [
  {
    id: 'type',
    header: 'Event',
    width: 190,
    cell: ({ event_type }) => <span className="cut">{event_type}</span>,
  },
  { id: 'state', header: 'State', width: 150, cell: (delivery) => <DeliveryState delivery={delivery} /> },
  { id: 'made', header: 'Happened', width: 110, cell: ({ created_at }) => <Ago at={created_at} /> },
  { id: 'tries', header: 'Tries', width: 60, align: 'end', cell: ({ attempts }) => count(attempts) },
  {
    id: 'next',
    header: 'Next try',
    width: 110,
    cell: ({ next_attempt_at }) => <Ago at={next_attempt_at} />,
  },
  {
    id: 'answer',
    header: 'Last response',
    cell: ({ last_status_code, last_error }) => (
      <span className="cut" title={last_error ?? ''}>
        {last_status_code === null ? null : <span className="num">{last_status_code} </span>}
        {last_error}
      </span>
    ),
  },
];

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Provider } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Ago } from '../../parts/time.tsx';
import { stateOf } from './limits.ts';
import { LimitsDialog } from './limits-dialog.tsx';
import { providersSearch } from './search.ts';

const rowKey = ({ host }: Provider) => host;
const everyMs = 5_000;
/** In the address: the dialog for one that was not called yet. */
const fresh = '*';

export default function ProvidersPage() {
  const [{ provider }, change] = useListState(providersSearch);
  const mayManage = useCan('provider.manage');
  // Under the area of items: whatever happens to rows may have called a provider.
  const { data, error, isPending } = useQuery({
    queryKey: ['items', 'providers'],
    queryFn: ({ signal }) => api.get('/api/providers', { signal }),
    refetchInterval: everyMs,
  });
  const rows = data?.data ?? [];
  const chosen = rows.find(({ host }) => host === provider);
  const isOpen = mayManage && (chosen !== undefined || provider === fresh);
  const button = mayManage ? (
    <Button onClick={() => change({ provider: fresh })}>Limit a provider</Button>
  ) : undefined;
  return (
    <Page
      title="Providers"
      sentence="The services that rows are sent to. Limits hold for all processes together."
      actions={button}
    >
      {error === null ? null : <Problem error={error} />}
      <ListTable
        label="Providers"
        columns={columns}
        rows={rows}
        rowKey={rowKey}
        isLoading={isPending}
        {...(mayManage ? { onOpen: ({ host }: Provider) => change({ provider: host }) } : {})}
        openKey={chosen?.host}
        empty={<NoProvider button={button} />}
      />
      {isOpen ? (
        <LimitsDialog key={provider} provider={chosen} onClose={() => change({ provider: undefined })} />
      ) : null}
    </Page>
  );
}

function NoProvider({ button }: { button: React.ReactNode }) {
  return (
    <Empty
      sentence="No provider was called yet. Jobs with the processors http, llm and chain call them."
      sample={['api.example.com', 'ready', '8 at once', '1,204 today']}
      button={button}
    />
  );
}

const columns: Column<Provider>[] = [
  { id: 'host', header: 'Host', width: 190, cell: ({ host }) => <span className="cut">{host}</span> },
  { id: 'state', header: 'State', width: 150, cell: (provider) => <State provider={provider} /> },
  { id: 'pace', header: 'Pace', cell: ({ pace }) => <Pace pace={pace} /> },
  number('open', 'Open', ({ calls_open }) => calls_open),
  number('today', 'Calls today', ({ calls_today }) => calls_today, 88),
  number('cost', 'Cost today', ({ cost_today }) => cost_today, 88),
  number('rate', 'Per second', ({ rate_per_second }) => rate_per_second, 84),
  number('concurrency', 'At once', ({ concurrency }) => concurrency),
  number('budget', 'Budget', ({ daily_budget }) => daily_budget, 80),
  number('timeout', 'Limit (ms)', ({ timeout_ms }) => timeout_ms, 84),
];

function number(
  id: string,
  header: string,
  read: (provider: Provider) => number | null,
  width = 72,
): Column<Provider> {
  const cell = (provider: Provider) => {
    const value = read(provider);
    return (
      <span className="num">
        {value === null ? '–' : value.toLocaleString('en-US', { maximumFractionDigits: 4 })}
      </span>
    );
  };
  return { id, header, width, align: 'end', cell };
}

function State({ provider }: { provider: Provider }) {
  return (
    <span className="cut">
      {stateOf(provider)}
      {provider.waiting_until === null ? null : (
        <>
          {' '}
          until <Ago at={provider.waiting_until} />
        </>
      )}
    </span>
  );
}

function Pace({ pace }: Pick<Provider, 'pace'>) {
  if (pace === null) return <span className="dim">–</span>;
  const spacing = pace.delay_ms > 0 ? `, one in ${count(pace.delay_ms)} ms` : '';
  return (
    <span className="cut" title={pace.reason}>
      {count(Math.round(pace.calls_at_once))} at once{spacing}
    </span>
  );
}

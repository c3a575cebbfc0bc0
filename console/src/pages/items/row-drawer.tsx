import { Button, Drawer, Skeleton, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Reply } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import { useListState } from '../../list-state.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { count } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { Correctable } from './correct-value.tsx';
import { cellText } from './exact-json.ts';
import { DrawerImage } from './item-image.tsx';
import { canRestart, type ItemJob } from './item-job.ts';
import { isEnded } from './item-status.ts';
import { useReprocess } from './reprocess.ts';
import { RowHistory } from './row-history.tsx';
import { getRow, type WholeRow } from './rows-api.ts';
import { itemSearch } from './search.ts';
import { WaitsFor } from './waits-for.tsx';

export type ProviderCall = Reply<'/api/jobs/{job_id}/items/{item_id}/calls'>['data'][number];

interface RowDrawerProps {
  job: ItemJob;
  itemId: string | undefined;
  onClose: () => void;
}

/** One row with all of its data. */
export function RowDrawer({ job, itemId, onClose }: RowDrawerProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['items', 'row', job.jobId, itemId],
    queryFn: ({ signal }) => getRow(job.jobId, itemId ?? '', signal),
    enabled: itemId !== undefined,
  });
  const title = data === undefined ? 'Row' : `Row ${count(data.rowNo)}`;
  return (
    <Drawer opened={itemId !== undefined} onClose={onClose} title={title} position="right" size="lg">
      {error === null ? null : (
        <Problem error={error} isStale={data !== undefined} retry={() => void refetch()} />
      )}
      {data === undefined && error === null ? <Skeleton height={160} /> : null}
      {data === undefined ? null : <RowView job={job} row={data} />}
    </Drawer>
  );
}

const parts = ['result', 'input', 'calls', 'history'] as const;

function RowView({ job, row }: { job: ItemJob; row: WholeRow }) {
  const [{ part = row.result === null ? 'input' : 'result' }, change] = useListState(itemSearch);
  const calls = useQuery({
    queryKey: ['items', 'calls', job.jobId, row.id],
    queryFn: ({ signal }) =>
      api.get('/api/jobs/{job_id}/items/{item_id}/calls', {
        path: { job_id: job.jobId, item_id: Number(row.id) },
        signal,
      }),
  });
  const made = calls.data?.data ?? [];
  const canCorrect =
    useCan('item.control') && canRestart(job) && job.jobType === 'csv' && row.status !== 'PROCESSING';
  return (
    <div className="stack">
      <RowState job={job} row={row} />
      <DrawerImage key={row.id} job={job} row={row} />
      <Tabs
        value={part}
        keepMounted={false}
        onChange={(value) => change({ part: parts.find((name) => name === value) })}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="result">Result</Tabs.Tab>
          <Tabs.Tab value="input">Input</Tabs.Tab>
          <Tabs.Tab value="calls">Provider calls{made.length === 0 ? '' : ` (${made.length})`}</Tabs.Tab>
          <Tabs.Tab value="history">History</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="result">
          <Values value={row.result} nothing="There is no result yet." />
        </Tabs.Panel>
        <Tabs.Panel value="input">
          <Values
            value={row.input}
            nothing="The row is empty."
            correctable={canCorrect ? { jobId: job.jobId, itemId: row.id } : undefined}
          />
        </Tabs.Panel>
        <Tabs.Panel value="calls">
          {calls.error === null ? (
            <Calls calls={made} isLoading={calls.isPending} />
          ) : (
            <Problem error={calls.error} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <RowHistory job={job} row={row} calls={made} />
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}

function RowState({ job, row }: { job: ItemJob; row: WholeRow }) {
  const canReprocess = useCan('item.control') && canRestart(job);
  const { run, isRunning } = useReprocess(() => {});
  const { status, id } = row;
  return (
    <>
      <div className="drawer-head">
        <StatusChip status={status} />
        <span className="dim">
          since <Ago at={row.updatedAt} /> · {row.attempts} {row.attempts === 1 ? 'attempt' : 'attempts'} ·
          item {id}
          {row.nextAttemptAt === null ? null : (
            <>
              {' '}
              · <WaitsFor row={row} />
            </>
          )}
        </span>
        {canReprocess && isEnded(status) ? (
          <Button
            variant="default"
            loading={isRunning}
            onClick={() => run({ jobId: job.jobId, itemIds: [id], statuses: [status] })}
          >
            Reprocess this row
          </Button>
        ) : null}
      </div>
      {row.lastError === null ? null : (
        <p data-tone="failed">
          <span className="toned">{row.lastError}</span> <code className="dim">{row.errorCode}</code>
        </p>
      )}
    </>
  );
}

/** Names and values as a table; a value that is not an object unchanged. All of it can be copied. */
function Values({
  value,
  nothing,
  correctable,
}: {
  value: unknown;
  nothing: string;
  correctable?: { jobId: string; itemId: string } | undefined;
}) {
  if (value === null || value === undefined) return <p className="dim">{nothing}</p>;
  const isObject = typeof value === 'object' && !Array.isArray(value);
  if (!isObject) return <JsonView value={value} />;
  return (
    <div className="stack">
      <table className="row-values">
        <tbody>
          {Object.entries(value).map(([name, member]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                {correctable !== undefined && !isNested(member) ? (
                  <Correctable {...correctable} column={name} value={member} />
                ) : (
                  shownValue(member)
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <JsonView value={value} />
    </div>
  );
}

function shownValue(value: unknown) {
  return value === null ? <span className="dim">null</span> : cellText(value);
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function Calls({ calls, isLoading }: { calls: readonly ProviderCall[]; isLoading: boolean }) {
  if (isLoading) return <Skeleton height={60} />;
  if (calls.length === 0) {
    return <p className="dim">No call to a provider is recorded for this row.</p>;
  }
  return (
    <ol className="history">
      {calls.map((call) => (
        <li key={`${call.createdAt} ${call.strategy}`}>
          <span className="dim">
            <Ago at={call.createdAt} />
          </span>
          <span>
            <b>{call.provider}</b> {call.strategy === 'default' ? '' : `(${call.strategy}) `}
            returned {call.status === null ? 'nothing' : call.status} in <Duration ms={call.tookMs} />:{' '}
            {call.outcome.toLowerCase().replaceAll('_', ' ')}
            {call.error === null ? null : <span className="dim"> · {call.error}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}

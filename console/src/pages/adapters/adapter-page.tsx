import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { queryClient, useCan } from '../../api/queries.ts';
import type { Adapter, AdapterCheck } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { CountSum } from '../../parts/counts.tsx';
import { Page, Panel, UnreadPage } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { useGo } from '../../parts/to.tsx';
import { AdapterDialog } from './adapter-dialog.tsx';
import { kindWords, placeOf, scanWords, scheduleWords, targetWords } from './adapter-words.ts';
import { Files } from './files.tsx';

const breadcrumbs = [{ label: 'Adapters', to: '/adapters' }];
/** Scheduled scans have no events, so the page polls. */
const askEveryMs = 4_000;

export default function AdapterPage() {
  const { name = '' } = useParams({ strict: false });
  const {
    data: adapter,
    error,
    refetch,
  } = useQuery({
    queryKey: ['adapters', 'one', name],
    queryFn: ({ signal }) => api.get('/api/ingestion/adapters/{name}', { path: { name }, signal }),
    refetchInterval: askEveryMs,
  });
  if (adapter === undefined)
    return <UnreadPage title={name} breadcrumbs={breadcrumbs} error={error} retry={() => void refetch()} />;
  return (
    <Page
      title={adapter.name}
      breadcrumbs={breadcrumbs}
      state={<StatusChip status={adapter.state} />}
      actions={<AdapterActions adapter={adapter} />}
      sentence={`${kindWords[adapter.kind]}: ${placeOf(adapter)}. Files become ${targetWords(adapter)}.`}
    >
      {error === null ? null : <Problem error={error} retry={() => void refetch()} isStale />}
      <LastFailure adapter={adapter} />
      <div className="columns">
        <Scans adapter={adapter} />
        <FoundFiles adapter={adapter} />
      </div>
      <Files name={adapter.name} seenAt={adapter.last_scan_at} />
    </Page>
  );
}

function Scans({ adapter }: { adapter: Adapter }) {
  const { last_scan_at, next_scan_at } = adapter;
  return (
    <Panel title="Scans">
      <dl className="facts">
        <dt>When</dt>
        <dd>{scheduleWords(adapter.every_minutes)}</dd>
        <dt>Last</dt>
        <dd>{last_scan_at === null ? 'never' : <Ago at={last_scan_at} />}</dd>
        <dt>Next</dt>
        <dd>{next_scan_at === null ? 'only by hand' : <Ago at={next_scan_at} />}</dd>
        <dt>Names</dt>
        <dd>{adapter.pattern === null ? 'all' : <code>{adapter.pattern}</code>}</dd>
        <dt>Afterwards</dt>
        <dd>{adapter.after === 'move' ? 'moved to done/ or failed/' : 'left where they are'}</dd>
        <dt>File is read after</dt>
        <dd>{adapter.kind === 's3' ? 'at once: objects appear whole' : `${adapter.settle_seconds} s`}</dd>
      </dl>
    </Panel>
  );
}

/** Before everything else: what is wrong, and what happens next. */
function LastFailure({ adapter }: { adapter: Adapter }) {
  const { last_error, last_error_code, next_scan_at, last_scan_at, failures_in_row: failures } = adapter;
  if (last_error === null) return null;
  return (
    <Panel title={failures > 1 ? `The last ${failures} scans failed` : 'The last scan failed'}>
      <p role="status">
        {last_error}. <span className="dim mono small">{last_error_code}</span>
      </p>
      <p className="dim">
        Tried <Ago at={last_scan_at} />
        {next_scan_at === null ? '' : ', again '}
        {next_scan_at === null ? null : <Ago at={next_scan_at} />}. Nothing is lost.
      </p>
    </Panel>
  );
}

function FoundFiles({ adapter: { files, last_result: last } }: { adapter: Adapter }) {
  const total = files.ingested + files.duplicate + files.waiting + files.failed;
  return (
    <Panel title="Files so far">
      <div className="stack">
        <CountSum
          total={total}
          noun="files"
          withBar
          parts={[
            { label: 'taken in', value: files.ingested, tone: 'done' },
            { label: 'duplicates', value: files.duplicate, tone: 'canceled' },
            { label: 'waiting', value: files.waiting, tone: 'queued' },
            { label: 'failed', value: files.failed, tone: 'failed' },
          ]}
        />
        {last === null ? null : (
          <p className="dim small">
            The last scan saw {last.seen}, took in {last.ingested} and moved {last.moved}.
          </p>
        )}
      </div>
    </Panel>
  );
}

function AdapterActions({ adapter }: { adapter: Adapter }) {
  const [isEditing, setEditing] = useState(false);
  const mayManage = useCan('adapter.manage');
  const mayScan = useCan('adapter.scan');
  const { name } = adapter;
  const scan = useScan(name);
  const check = useAction({
    run: async () => {
      const answer = await api.post('/api/ingestion/adapters/{name}/check', { path: { name } });
      if (!answer.ok) throw new Error(answer.error ?? 'The place cannot be read.');
      return answer;
    },
    done: checkWords,
    touches: [],
  });
  const remove = useRemoval(name);
  return (
    <>
      <Button
        disabled={!mayScan}
        title={mayScan ? '' : 'Only admins of the tenant can scan adapters.'}
        loading={scan.isRunning}
        onClick={() => scan.run()}
      >
        Scan now
      </Button>
      {mayManage ? (
        <>
          <Button variant="default" loading={check.isRunning} onClick={() => check.run()}>
            Check
          </Button>
          <Button variant="default" onClick={() => setEditing(true)}>
            Change
          </Button>
          <Button variant="default" color="red" onClick={() => void remove()}>
            Delete
          </Button>
        </>
      ) : null}
      {isEditing ? <AdapterDialog adapter={adapter} onClose={() => setEditing(false)} /> : null}
    </>
  );
}

function useScan(name: string) {
  return useAction({
    run: async () => {
      const { data } = await api.post('/api/ingestion/scan', { body: { adapter: name } });
      const [scan] = data;
      if (scan !== undefined && scan.error !== null) throw new Error(scan.error);
      return scan;
    },
    done: (scan) => (scan === undefined ? null : scanWords(scan)),
    touches: ['adapters', 'jobs', 'items', 'uploads'],
  });
}

function checkWords({ files }: AdapterCheck): string {
  if (files.length === 0) return 'The place can be read. No file matches at the moment.';
  return `The place can be read. The first files: ${files.join(', ')}.`;
}

function useRemoval(name: string) {
  const go = useGo();
  const { run } = useAction({
    run: () => api.delete('/api/ingestion/adapters/{name}', { path: { name } }),
    done: () => `Deleted ${name}. Its files and their jobs stay.`,
    // Not the page that is being left: it would load what was just deleted.
    touches: [],
    afterwards: () => {
      go('/adapters');
      void queryClient.invalidateQueries({ queryKey: ['adapters', 'list'] });
    },
  });
  return async () => {
    const consequence =
      'Its record of files is deleted too: a new adapter would take in all files again. ' +
      'The files and their jobs stay.';
    if (await confirm({ title: `Delete ${name}?`, consequence, action: 'Delete adapter', isDanger: true }))
      run();
  };
}

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { ApiKey, OwnSession } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Ago } from '../../parts/time.tsx';

/** What lets its reader in: sessions of browsers, and the API keys that they made. */
export function OwnAccess() {
  return (
    <div className="stack">
      <OwnSessions />
      <OwnKeys />
    </div>
  );
}

function OwnSessions() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['settings', 'own-sessions'],
    queryFn: ({ signal }) => api.get('/api/me/sessions', { signal }),
  });
  const end = useAction({
    run: ({ session_id }: OwnSession) =>
      api.delete('/api/me/sessions/{session_id}', { path: { session_id } }),
    done: () => 'Ended the session.',
    touches: ['settings'],
  });
  const endOthers = useAction({
    run: () => api.delete('/api/me/sessions'),
    done: ({ ended }) => (ended === 1 ? 'Ended 1 other session.' : `Ended ${ended} other sessions.`),
    touches: ['settings'],
  });
  const sessions = data?.data ?? [];
  const others = sessions.filter(({ is_current }) => !is_current).length;
  return (
    <Panel title="Sessions">
      <div className="row">
        <span className="dim">Where you are logged in. End what you do not recognise.</span>
        <Button
          variant="default"
          disabled={others === 0}
          loading={endOthers.isRunning}
          onClick={() => endOthers.run()}
        >
          End all others
        </Button>
      </div>
      {error === null ? null : <Problem error={error} retry={() => void refetch()} />}
      <ListTable
        label="Your sessions"
        columns={[
          ...sessionFacts,
          {
            id: 'do',
            header: '',
            width: 130,
            cell: (session: OwnSession) =>
              session.is_current ? (
                <span className="dim">this session</span>
              ) : (
                <Button variant="subtle" color="red" size="compact-xs" onClick={() => end.run(session)}>
                  End session
                </Button>
              ),
          },
        ]}
        rows={sessions}
        rowKey={({ session_id }) => session_id}
        isLoading={isPending}
        empty={<span className="dim">No session is open: you use a token or an API key.</span>}
      />
    </Panel>
  );
}

function OwnKeys() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['settings', 'own-keys'],
    queryFn: ({ signal }) => api.get('/api/me/api-keys', { signal }),
  });
  const { run } = useAction({
    run: ({ key_id }: ApiKey) => api.delete('/api/me/api-keys/{key_id}', { path: { key_id } }),
    done: (_, { name }: ApiKey) => `Revoked ${name}.`,
    touches: ['settings'],
  });
  const revoke = async (key: ApiKey) => {
    const consequence = 'Every program that uses it is refused from now on. This cannot be undone.';
    const title = `Revoke ${key.name}?`;
    if (await confirm({ title, consequence, action: 'Revoke key', isDanger: true })) run(key);
  };
  return (
    <Panel title="API keys">
      <p className="dim">Keys that you made, and keys that were made with these.</p>
      {error === null ? null : <Problem error={error} retry={() => void refetch()} />}
      <ListTable
        label="Your API keys"
        columns={[
          ...keyFacts,
          {
            id: 'do',
            header: '',
            width: 130,
            cell: (key: ApiKey) => (
              <Button variant="subtle" color="red" size="compact-xs" onClick={() => void revoke(key)}>
                Revoke
              </Button>
            ),
          },
        ]}
        rows={data?.data ?? []}
        rowKey={({ key_id }) => key_id}
        isLoading={isPending}
        empty={<span className="dim">You have made no API key that still works.</span>}
      />
    </Panel>
  );
}

const sessionFacts = [
  {
    id: 'agent',
    header: 'Browser or program',
    cell: ({ agent }: OwnSession) => (
      <span className="cut" title={agent ?? undefined}>
        {agent ?? 'not known'}
      </span>
    ),
  },
  {
    id: 'since',
    header: 'Logged in',
    width: 120,
    cell: (session: OwnSession) => <Ago at={session.created_at} />,
  },
  { id: 'ends', header: 'Ends', width: 120, cell: (session: OwnSession) => <Ago at={session.expires_at} /> },
];

const keyFacts = [
  { id: 'name', header: 'Key', cell: ({ name }: ApiKey) => <span className="cut">{name}</span> },
  {
    id: 'hint',
    header: 'Begins with',
    width: 120,
    cell: ({ key_hint }: ApiKey) => <code>{key_hint}…</code>,
  },
  { id: 'role', header: 'Role', width: 100, cell: ({ role }: ApiKey) => role },
  {
    id: 'used',
    header: 'Last used',
    width: 120,
    cell: ({ last_used_at }: ApiKey) => <Ago at={last_used_at} empty="never" />,
  },
];

import { Button, PasswordInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { api } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { useListState } from '../../list-state.ts';
import { Command } from '../../parts/command.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useGo } from '../../parts/to.tsx';
import { ownPath } from './own-path.ts';
import { loginSearch } from './search.ts';

/** For people who are not logged in: a field for a token or key, and how to get a login link. */
export default function LoginPage() {
  const [{ to, refused }] = useListState(loginSearch);
  useEffect(() => {
    document.title = 'Log in · Sluice';
  }, []);
  return (
    <main className="login">
      <h1>Sluice</h1>
      {refused === 'link' ? (
        <p className="login-refused" role="alert">
          That login link was used before or is older than 30 minutes. Ask for a new one, or paste a token.
        </p>
      ) : null}
      <TokenForm to={ownPath(to)} />
      <h2>Log in with a link</h2>
      <p>
        The server prints a link when it starts. It works once, for 30 minutes. A token for the field above:
      </p>
      <Command line="sluice token --tenant default --role admin" />
    </main>
  );
}

function TokenForm({ to }: { to: string }) {
  const go = useGo();
  const [token, setToken] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isSending, setSending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    try {
      await api.post('/api/session', { body: { token: token.trim() } });
      queryClient.clear();
      go(to);
    } catch (problem) {
      setError(problem);
    } finally {
      setSending(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <PasswordInput
        label="Token or API key"
        description="It is exchanged for a session cookie and not stored."
        autoComplete="off"
        value={token}
        onChange={(event) => setToken(event.currentTarget.value)}
        data-autofocus
      />
      {error === null ? null : <Problem error={error} />}
      <Button type="submit" size="sm" loading={isSending} disabled={token.trim() === ''}>
        Log in
      </Button>
    </form>
  );
}

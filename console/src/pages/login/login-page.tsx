import { Button, PasswordInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { api } from '../../api/client.ts';
import { useErrorWords } from '../../api/error-words.ts';
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
      {refused === undefined ? null : <Refusal code={refused} />}
      <ProviderLink to={ownPath(to)} />
      <TokenForm to={ownPath(to)} />
      <h2>Log in with a link</h2>
      <p>
        The server prints a link when it starts. It works once, for 30 minutes. A token for the field above:
      </p>
      <Command line="sluice token --tenant default --role admin" />
    </main>
  );
}

/** Why the last try failed: `link` for a login link, otherwise the code of a refused sign-in. */
function Refusal({ code }: { code: string }) {
  const words = useErrorWords(code === 'link' ? null : code);
  const sentence =
    code === 'link'
      ? 'That login link was used before or is older than 30 minutes. Ask for a new one, or paste a token.'
      : words === null
        ? 'The sign-in was refused.'
        : `${words.title}. ${words.next}`;
  return (
    <p className="login-refused" role="alert">
      {sentence}
      {code === 'link' ? null : (
        <>
          {' '}
          <code>{code}</code>
        </>
      )}
    </p>
  );
}

/** Shown where the server has a login provider. It is a link: the browser itself goes there. */
function ProviderLink({ to }: { to: string }) {
  const ways = useQuery({
    queryKey: ['session-ways'],
    queryFn: () => api.get('/login/ways'),
    retry: false,
  });
  const provider = ways.data?.oidc;
  if (!provider) return null;
  const query = to === '/' ? '' : `?${new URLSearchParams({ to })}`;
  return (
    <Button component="a" href={`${provider.url}${query}`} size="md" fullWidth>
      Sign in with {provider.name}
    </Button>
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

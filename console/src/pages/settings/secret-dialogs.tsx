import { Checkbox, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ApiProblem, api } from '../../api/client.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { listOf, type Secret } from '../../parts/secrets.ts';

interface UseDraft {
  isForMembers: boolean;
  uses: string;
}

/** Stores a new secret, or replaces one: hosts change only together with the value. */
export function StoreSecretDialog({ secret, onClose }: { secret: Secret | null; onClose: () => void }) {
  const [name, setName] = useState(secret?.name ?? '');
  const [value, setValue] = useState('');
  const [hosts, setHosts] = useState(secret?.hosts.join('\n') ?? '');
  const [use, setUse] = useState(draftOf(secret));
  const body = { value, hosts: listOf(hosts), ...rulesOf(use) };
  return (
    <FormDialog
      title={secret === null ? 'Store a secret' : `Replace ${secret.name}`}
      isOpen
      onClose={onClose}
      action={secret === null ? 'Store secret' : 'Replace secret'}
      isReady={name.trim() !== '' && value !== '' && body.hosts.length > 0}
      send={() => api.put('/api/secrets/{name}', { path: { name: name.trim() }, body })}
      done={() => `Stored ${name.trim()}.`}
      touches={['settings']}
    >
      {(error) => (
        <>
          <TextInput
            label="Name"
            description="An existing secret with this name is replaced."
            required
            disabled={secret !== null}
            value={name}
            error={messageAt(error, 'name')}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus={secret === null ? true : undefined}
          />
          <PasswordInput
            label="Secret"
            required
            autoComplete="off"
            value={value}
            error={messageAt(error, 'value')}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Textarea
            label="Hosts"
            description="Where it may be sent, one per line: api.example.com, or api.example.com:8443 for one port."
            required
            autosize
            minRows={2}
            maxRows={8}
            value={hosts}
            error={messageIn(error, 'hosts')}
            onChange={(event) => setHosts(event.currentTarget.value)}
          />
          <UseFields draft={use} onChange={setUse} error={error} />
        </>
      )}
    </FormDialog>
  );
}

/** Changes who and what may use a secret; its value and hosts stay. */
export function ChangeSecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const { name } = secret;
  const [use, setUse] = useState(draftOf(secret));
  return (
    <FormDialog
      title={`Change the use of ${name}`}
      isOpen
      onClose={onClose}
      action="Save changes"
      send={() => api.patch('/api/secrets/{name}', { path: { name }, body: rulesOf(use) })}
      done={() => `Changed ${name}.`}
      touches={['settings']}
    >
      {(error) => <UseFields draft={use} onChange={setUse} error={error} />}
    </FormDialog>
  );
}

function UseFields(props: { draft: UseDraft; onChange: (draft: UseDraft) => void; error: unknown }) {
  const { draft, onChange, error } = props;
  return (
    <>
      <Checkbox
        label="Members may use it"
        description="Admins, services and operators always may."
        checked={draft.isForMembers}
        error={messageIn(error, 'roles')}
        onChange={(event) => onChange({ ...draft, isForMembers: event.currentTarget.checked })}
      />
      <TextInput
        label="Only for"
        description="Such as processor:http, embedder:openai or adapter:s3. Empty: for everything."
        value={draft.uses}
        error={messageIn(error, 'uses')}
        onChange={(event) => onChange({ ...draft, uses: event.currentTarget.value })}
      />
    </>
  );
}

function draftOf(secret: Secret | null): UseDraft {
  return {
    isForMembers: secret?.roles.includes('member') ?? false,
    uses: secret?.uses?.join(', ') ?? '',
  };
}

function rulesOf({ isForMembers, uses }: UseDraft) {
  const listed = listOf(uses);
  return {
    roles: isForMembers ? ['member' as const] : [],
    uses: listed.length === 0 ? null : listed,
  };
}

/** What the server said of a list, or of one of its entries. */
function messageIn(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  return error.errors.find(({ pointer }) => pointer.split('/').includes(field))?.message;
}

import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Provider } from '../../api/types.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';
import { draftOf, draftProblem, limitFields, limitsOf } from './limits.ts';

interface LimitsDialogProps {
  /** Undefined: one that was not called yet. */
  provider: Provider | undefined;
  onClose: () => void;
}

/** What may be asked of a provider. */
export function LimitsDialog({ provider, onClose }: LimitsDialogProps) {
  const [host, setHost] = useState(provider?.host ?? '');
  const [draft, setDraft] = useState(() => draftOf(provider));
  const problem = draftProblem(draft);
  return (
    <FormDialog
      title={provider === undefined ? 'Limit a provider' : `Limits of ${provider.host}`}
      isOpen
      onClose={onClose}
      action="Save limits"
      isReady={host.trim() !== '' && problem === null}
      send={() => api.put('/api/providers/{host}', { path: { host: host.trim() }, body: limitsOf(draft) })}
      done={(saved) => `The limits of ${saved.host} hold from now on.`}
      touches={['items', 'pending']}
    >
      {(error) => (
        <>
          {provider === undefined ? (
            <TextInput
              label="Host"
              required
              placeholder="api.example.com"
              value={host}
              error={messageAt(error, 'host')}
              onChange={(event) => setHost(event.currentTarget.value)}
            />
          ) : null}
          {limitFields.map(({ name, label, description }) => (
            <TextInput
              key={name}
              label={label}
              description={`${description}; empty: no limit`}
              inputMode="decimal"
              value={draft[name]}
              error={problem === name ? 'Enter a number, or nothing' : messageAt(error, name)}
              onChange={(event) => {
                const { value } = event.currentTarget;
                setDraft((before) => ({ ...before, [name]: value }));
              }}
            />
          ))}
        </>
      )}
    </FormDialog>
  );
}

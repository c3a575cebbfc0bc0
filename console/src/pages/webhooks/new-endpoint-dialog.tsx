import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { Webhook, WebhookWithSecret } from '../../api/types.ts';
import { FormDialog, messageAt } from '../../parts/form-dialog.tsx';

export function NewEndpointDialog(props: { onClose: () => void; onMade: (made: WebhookWithSecret) => void }) {
  const [draft, setDraft] = useState<EndpointDraft>({ url: '', types: '', description: '' });
  return (
    <FormDialog
      title="New endpoint"
      isOpen
      onClose={props.onClose}
      action="Create endpoint"
      isReady={draft.url.trim() !== ''}
      send={() => api.post('/api/webhooks', { body: bodyOf(draft) })}
      done={() => 'Made the endpoint. Copy its secret now.'}
      touches={['webhooks']}
      afterwards={props.onMade}
    >
      {(error) => <EndpointFields draft={draft} change={setDraft} error={error} />}
    </FormDialog>
  );
}

export function EditEndpointDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [draft, setDraft] = useState<EndpointDraft>({
    url: webhook.url,
    types: webhook.event_types?.join(', ') ?? '',
    description: webhook.description ?? '',
  });
  const { webhook_id } = webhook;
  return (
    <FormDialog
      title="Change the endpoint"
      isOpen
      onClose={onClose}
      action="Save changes"
      isReady={draft.url.trim() !== ''}
      send={() => api.patch('/api/webhooks/{webhook_id}', { path: { webhook_id }, body: bodyOf(draft) })}
      done={() => 'Saved the endpoint.'}
      touches={['webhooks']}
    >
      {(error) => <EndpointFields draft={draft} change={setDraft} error={error} />}
    </FormDialog>
  );
}

interface EndpointDraft {
  url: string;
  types: string;
  description: string;
}

function bodyOf({ url, types, description }: EndpointDraft) {
  const wanted = types.split(/[\s,]+/).filter((type) => type !== '');
  return {
    url: url.trim(),
    event_types: wanted.length === 0 ? null : wanted,
    description: description.trim() === '' ? null : description.trim(),
  };
}

interface FieldsProps {
  draft: EndpointDraft;
  change: (draft: EndpointDraft) => void;
  error: unknown;
}

function EndpointFields({ draft, change, error }: FieldsProps) {
  return (
    <>
      <TextInput
        label="URL"
        type="url"
        required
        placeholder="https://example.com/hooks/sluice"
        value={draft.url}
        error={messageAt(error, 'url')}
        onChange={(event) => change({ ...draft, url: event.currentTarget.value })}
        data-autofocus
      />
      <TextInput
        label="Events"
        description="Types, separated by commas; * matches the rest. Empty: all."
        placeholder="job.*, upload.completed"
        value={draft.types}
        error={messageAt(error, 'event_types')}
        onChange={(event) => change({ ...draft, types: event.currentTarget.value })}
      />
      <TextInput
        label="What it is for"
        value={draft.description}
        error={messageAt(error, 'description')}
        onChange={(event) => change({ ...draft, description: event.currentTarget.value })}
      />
    </>
  );
}

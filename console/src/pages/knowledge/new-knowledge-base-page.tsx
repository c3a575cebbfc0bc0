import { Button, FileButton, NumberInput, Select, Stack, Switch, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import { messageAt } from '../../parts/form-dialog.tsx';
import { notifyDone } from '../../parts/notify.ts';
import { plural } from '../../parts/number.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { SecretField } from '../../parts/secret-field.tsx';
import { useGo } from '../../parts/to.tsx';
import { sendFiles } from './drop-files.tsx';
import { bodyOf, emptyBase, type NewBase } from './new-base.ts';
import { isReady, SourceFields } from './source-fields.tsx';

const breadcrumbs = [{ label: 'Knowledge', to: '/knowledge' }];

export default function NewKnowledgeBasePage() {
  const [draft, setDraft] = useState(emptyBase);
  const [files, setFiles] = useState<readonly File[]>([]);
  const { error, isSending, make } = useMaking();
  const change = (changes: Partial<NewBase>) => setDraft((before) => ({ ...before, ...changes }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void make(draft, files);
  };
  const hasSource = draft.hasSource && isReady(draft.source);
  return (
    <Page title="New knowledge base" breadcrumbs={breadcrumbs}>
      <form onSubmit={submit}>
        <Stack gap="md" maw={640}>
          <TextInput
            label="Name"
            required
            value={draft.name}
            error={messageAt(error, 'name')}
            onChange={(event) => change({ name: event.currentTarget.value })}
            data-autofocus
          />
          <Panel title="What goes in">
            <Stack gap="sm">
              <span className="row">
                <FileButton multiple onChange={setFiles}>
                  {(props) => (
                    <Button {...props} variant="default">
                      Choose files
                    </Button>
                  )}
                </FileButton>
                <span className="dim">
                  {files.length === 0
                    ? 'Markdown, text, HTML, PDF, DOCX, VTT, SRT'
                    : plural(files.length, 'file')}
                </span>
              </span>
              <Switch
                label="A source that every run reads again"
                checked={draft.hasSource}
                onChange={(event) => change({ hasSource: event.currentTarget.checked })}
              />
              {draft.hasSource ? (
                <SourceFields draft={draft.source} change={(source) => change({ source })} error={error} />
              ) : null}
            </Stack>
          </Panel>
          <HowItIsIndexed draft={draft} change={change} error={error} />
          {error === null ? null : <Problem error={error} />}
          <div className="row">
            <Button type="submit" loading={isSending} disabled={draft.name.trim() === ''}>
              {files.length > 0 || hasSource ? 'Create knowledge base' : 'Create empty knowledge base'}
            </Button>
            <span className="dim small">Nothing is indexed before you start the first run.</span>
          </div>
        </Stack>
      </form>
    </Page>
  );
}

function HowItIsIndexed(props: {
  draft: NewBase;
  change: (changes: Partial<NewBase>) => void;
  error: unknown;
}) {
  const { draft, change, error } = props;
  return (
    <Panel title="How it is indexed">
      <Stack gap="sm">
        <Select
          label="Passages are cut"
          data={[
            { value: 'markdown', label: 'by headings (best for documents)' },
            { value: 'recursive', label: 'by paragraphs and sentences' },
            { value: 'fixed', label: 'by length alone' },
          ]}
          value={draft.strategy}
          allowDeselect={false}
          onChange={(value) => change({ strategy: (value ?? 'markdown') as NewBase['strategy'] })}
        />
        <Select
          label="Embedder"
          description="A later change rebuilds the index; searches use the old one until then."
          data={[
            { value: 'local', label: 'the built-in model (no cost, nothing leaves this server)' },
            { value: 'openai', label: 'a service that speaks OpenAI’s protocol' },
          ]}
          value={draft.provider}
          allowDeselect={false}
          onChange={(value) => change({ provider: (value ?? 'local') as NewBase['provider'] })}
        />
        {draft.provider === 'openai' ? <ServiceFields draft={draft} change={change} error={error} /> : null}
      </Stack>
    </Panel>
  );
}

function ServiceFields(props: {
  draft: NewBase;
  change: (changes: Partial<NewBase>) => void;
  error: unknown;
}) {
  const { draft, change, error } = props;
  return (
    <>
      <TextInput
        label="Address"
        description="Empty: OpenAI itself."
        placeholder="https://embeddings.example.com/v1"
        value={draft.baseUrl}
        error={messageAt(error, 'base_url')}
        onChange={(event) => change({ baseUrl: event.currentTarget.value })}
      />
      <TextInput
        label="Model"
        required
        value={draft.model}
        error={messageAt(error, 'model')}
        onChange={(event) => change({ model: event.currentTarget.value })}
      />
      <SecretField
        label="Secret with the API key"
        description="The name under Settings, Secrets."
        use="embedder:openai"
        value={draft.secret}
        error={messageAt(error, 'api_key_secret')}
        onChange={(secret) => change({ secret })}
      />
      <NumberInput
        label="Price of a million tokens"
        description="For the plan’s estimate."
        min={0}
        decimalScale={4}
        value={draft.price ?? ''}
        error={messageAt(error, 'price_per_million_tokens')}
        onChange={(value) => change({ price: typeof value === 'number' ? value : null })}
      />
    </>
  );
}

/** Creates the knowledge base first, then adds its files: if a file is refused, the base exists and shows why. */
function useMaking() {
  const go = useGo();
  const client = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [isSending, setSending] = useState(false);
  const [madeId, setMadeId] = useState<string | null>(null);
  const make = async (draft: NewBase, files: readonly File[]) => {
    setSending(true);
    setError(null);
    try {
      const kbId = madeId ?? (await api.post('/api/knowledge', { body: bodyOf(draft) })).kb_id;
      setMadeId(kbId);
      const sent = files.length === 0 ? 0 : await sendFiles(kbId, files);
      notifyDone(
        sent === 0
          ? `Created ${draft.name.trim()}.`
          : `Created ${draft.name.trim()} with ${plural(sent, 'file')}.`,
      );
      await client.invalidateQueries({ queryKey: ['knowledge'] });
      go(`/knowledge/${encodeURIComponent(kbId)}`);
    } catch (problem) {
      setError(problem);
    } finally {
      setSending(false);
    }
  };
  return { error, isSending, make };
}

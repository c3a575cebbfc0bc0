import { Button, Select, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { ApiProblem } from '../../api/client.ts';
import { useCan, workspacesQuery } from '../../api/queries.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { bytes } from '../../parts/number.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ProgressBar } from '../../parts/progress.tsx';
import { useWorkspace } from '../../shell/workspace.ts';
import { DropZone } from './drop-zone.tsx';
import { beginningOf, guessPlatform } from './guess-platform.ts';
import { forgetHanded, handedFile } from './handed-file.ts';
import { type Platform, usePlatformChoices } from './platforms.ts';
import { uploadSearch } from './search.ts';
import { isSameUpload, type NewUpload, refusalsOf, sendUpload, type UploadField } from './send-upload.ts';
import { WizardSteps } from './wizard-steps.tsx';
import './uploads.css';

const crumbs = [{ label: 'Uploads', to: '/uploads' }];

export default function NewUploadPage() {
  const canUpload = useCan('upload.create');
  return (
    <Page title="New upload" breadcrumbs={crumbs}>
      <WizardSteps current="Drop" />
      {canUpload ? <UploadForm /> : <Empty sentence="Your role can read uploads but not create any." />}
    </Page>
  );
}

interface Form {
  file: File | null;
  platform: Platform | null;
  /** Where the choice of the platform comes from: a guess gives way to another file, a person's choice does not. */
  isGuessed: boolean;
  workspaceId: string | null;
  clientId: string;
}

function UploadForm() {
  const { form, change, takeFile } = useForm();
  const sending = useSending();
  const refused = refusalsOf(sending.error);
  const isComplete = form.file !== null && form.platform !== null && form.workspaceId !== null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { file, platform, workspaceId, clientId } = form;
    if (file === null || platform === null || workspaceId === null) return;
    void sending.send({ file, platform, workspaceId, clientId: clientId.trim() });
  };
  return (
    <Panel title="The report">
      <form className="stack" onSubmit={submit}>
        <DropZone
          file={form.file}
          onFile={(file) => {
            sending.forget();
            void takeFile(file);
          }}
          error={refused.file}
          isDisabled={sending.isSending}
        />
        <Fields form={form} change={change} refused={refused} isDisabled={sending.isSending} />
        {sending.error !== null && Object.keys(refused).length === 0 ? (
          <Problem error={sending.error} />
        ) : null}
        {sending.isSending && form.file !== null ? (
          <Sent sentBytes={sending.sentBytes} file={form.file} onStop={sending.stop} />
        ) : null}
        <div className="row">
          <Button type="submit" disabled={!isComplete} loading={sending.isSending}>
            Upload and review
          </Button>
          <span className="dim small">
            Nothing is promoted yet. You first see what would be created, changed and rejected.
          </span>
        </div>
      </form>
    </Panel>
  );
}

function useForm() {
  const [known] = useListState(uploadSearch);
  const [barWorkspace] = useWorkspace();
  const workspaces = useQuery(workspacesQuery).data?.data;
  const [form, setForm] = useState<Form>({
    file: null,
    platform: known.platform ?? null,
    isGuessed: false,
    workspaceId: known.into ?? barWorkspace ?? null,
    clientId: known.client ?? '',
  });
  const change = useCallback(
    (changes: Partial<Form>) => setForm((before) => ({ ...before, ...changes })),
    [],
  );
  const onlyWorkspace = workspaces?.[0]?.workspace_id;
  useEffect(() => {
    if (onlyWorkspace === undefined) return;
    setForm((before) => ({ ...before, workspaceId: before.workspaceId ?? onlyWorkspace }));
  }, [onlyWorkspace]);
  const takeFile = useCallback(async (file: File) => {
    setForm((before) => ({ ...before, file }));
    const guess = guessPlatform(file.name, await beginningOf(file).catch(() => ''));
    setForm((before) => {
      const isOpen = before.platform === null || before.isGuessed;
      return isOpen && before.file === file
        ? { ...before, platform: guess, isGuessed: guess !== null }
        : before;
    });
  }, []);
  useEffect(() => {
    const handed = handedFile();
    forgetHanded();
    if (handed !== null) void takeFile(handed);
  }, [takeFile]);
  return { form, change, takeFile };
}

function useSending() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [sentBytes, setSentBytes] = useState<number | null>(null);
  const stopper = useRef<AbortController | null>(null);
  const last = useRef<{ upload: NewUpload; key: string } | null>(null);
  useEffect(() => () => stopper.current?.abort(), []);
  const send = async (upload: NewUpload) => {
    const abort = new AbortController();
    stopper.current = abort;
    setError(null);
    setSentBytes(0);
    if (last.current === null || !isSameUpload(last.current.upload, upload))
      last.current = { upload, key: crypto.randomUUID() };
    const sending = { onProgress: setSentBytes, signal: abort.signal, idempotencyKey: last.current.key };
    try {
      const { upload_id: uploadId, uploads } = await sendUpload(upload, sending);
      await client.invalidateQueries({ queryKey: ['uploads'] });
      // The reports of an archive are reviewed one by one: the list shows them all.
      if (uploads.length > 1) void navigate({ to: '/uploads', replace: true });
      else void navigate({ to: '/uploads/$uploadId', params: { uploadId }, replace: true });
    } catch (problem) {
      // Only a try without a response may already have created an upload.
      if (!(problem instanceof ApiProblem) || problem.status !== 0) last.current = null;
      if (!abort.signal.aborted) setError(problem);
      setSentBytes(null);
    }
  };
  return {
    send,
    error,
    sentBytes: sentBytes ?? 0,
    isSending: sentBytes !== null,
    stop: () => stopper.current?.abort(),
    forget: () => setError(null),
  };
}

interface FieldsProps {
  form: Form;
  change: (changes: Partial<Form>) => void;
  refused: Partial<Record<UploadField, string>>;
  isDisabled: boolean;
}

function Fields({ form, change, refused, isDisabled }: FieldsProps) {
  const workspaces = useQuery(workspacesQuery);
  const platformChoices = usePlatformChoices();
  const data = workspaces.data?.data.map(({ workspace_id: value, name }) => ({ value, label: name })) ?? [];
  return (
    <div className="upload-fields">
      <Select
        label="Platform"
        description={platformWords(form)}
        placeholder="Whose report is it?"
        data={platformChoices}
        value={form.platform}
        onChange={(platform) => change({ platform: platform as Platform | null, isGuessed: false })}
        error={refused.platform}
        disabled={isDisabled}
      />
      <Select
        label="Workspace"
        description="Where the data goes"
        placeholder={workspaces.isPending ? 'Loading …' : 'Choose a workspace'}
        data={data}
        value={form.workspaceId}
        onChange={(workspaceId) => change({ workspaceId })}
        error={refused.workspace_id ?? workspaceProblem(workspaces)}
        disabled={isDisabled}
        searchable
      />
      <TextInput
        label="Client"
        description="Optional: the id of the client the account belongs to"
        placeholder="A UUID"
        value={form.clientId}
        onChange={(event) => change({ clientId: event.currentTarget.value })}
        error={refused.client_id}
        disabled={isDisabled}
      />
    </div>
  );
}

function workspaceProblem(workspaces: { isError: boolean; data?: { data: unknown[] } | undefined }) {
  if (workspaces.isError) return 'The workspaces could not be loaded';
  return workspaces.data?.data.length === 0
    ? 'No workspace yet: an admin creates one in Settings'
    : undefined;
}

function platformWords({ file, platform, isGuessed }: Form): string {
  if (isGuessed && platform !== null) return `Guessed from the file; change it if it is wrong`;
  if (file !== null && platform === null) return 'The file does not say. Please choose';
  return 'Decides how columns are recognised';
}

function Sent({ sentBytes, file, onStop }: { sentBytes: number; file: File; onStop: () => void }) {
  const words = `${bytes(Math.min(sentBytes, file.size))} of ${bytes(file.size)} sent`;
  return (
    <div className="stack">
      <ProgressBar done={sentBytes} total={file.size} label={words} isMoving />
      <div className="row">
        <span className="num small">{words}</span>
        <Button variant="subtle" color="gray" size="compact-xs" onClick={onStop}>
          Stop
        </Button>
      </div>
    </div>
  );
}

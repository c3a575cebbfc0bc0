import { Button, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useCan } from '../../api/queries.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { bytes } from '../../parts/number.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ProgressBar } from '../../parts/progress.tsx';
import { readFileColumns } from './file-columns.ts';
import { ItemsDrop } from './items-drop.tsx';
import { HttpFields, RuleFields } from './processor-fields.tsx';
import { emptyHttp, httpOptions, jsonProblem, newRule, validateOptions } from './processor-options.ts';
import { type NewItemsSearch, newItemsSearch } from './search.ts';
import { useSending } from './use-sending.ts';
import './items.css';

type ProcessorName = NewItemsSearch['processor'];

const processors: { name: ProcessorName; label: string; help: string }[] = [
  {
    name: 'validate',
    label: 'Check',
    help: 'Rules for columns: types, bounds, patterns. Nothing is called.',
  },
  { name: 'http', label: 'Ask a provider', help: 'One call per row; the answer becomes the row’s result.' },
  { name: 'noop', label: 'Only take in', help: 'Every row is its own result. For trials.' },
];

export default function NewItemsPage() {
  const canCreate = useCan('item.create');
  return (
    <Page title="New items job" breadcrumbs={[{ label: 'Items', to: '/items' }]}>
      {canCreate ? (
        <NewItems />
      ) : (
        <div className="list-empty">
          <Empty sentence="Your role may look at rows but not send any. Ask a member or an admin of your tenant." />
        </div>
      )}
    </Page>
  );
}

function NewItems() {
  const [{ processor = 'validate' }, change] = useListState(newItemsSearch);
  const [file, setFile] = useState<File | null>(null);
  const [columns, setColumns] = useState<string[]>([]);
  const [ownJson, setOwnJson] = useState<string | null>(null);
  const [rules, setRules] = useState(() => [newRule(1)]);
  const [http, setHttp] = useState(emptyHttp);
  const { sentBytes, error, send, stop } = useSending();
  const fromForm = { noop: {}, validate: validateOptions(rules), http: httpOptions(http) }[processor];
  const options = ownJson ?? JSON.stringify(fromForm);
  const take = async (taken: File) => {
    setFile(taken);
    const names = await readFileColumns(taken);
    setColumns(names);
    setRules((before) => (before.every(({ column }) => column === '') ? [newRule(1, names[0])] : before));
  };
  const isIncomplete =
    ownJson === null
      ? (processor === 'validate' && rules.every(({ column }) => column.trim() === '')) ||
        (processor === 'http' && http.url.trim() === '')
      : jsonProblem(ownJson) !== null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (file !== null && !isIncomplete) void send({ file, processor, options });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <ItemsDrop file={file} onFile={(taken) => void take(taken)} isDisabled={sentBytes !== null} />
      <Panel
        title="What happens to each row"
        aside={
          processor === 'noop' ? null : (
            <Button
              variant="subtle"
              onClick={() => setOwnJson(ownJson === null ? JSON.stringify(fromForm, null, 2) : null)}
            >
              {ownJson === null ? 'Write the options as JSON' : 'Back to the form'}
            </Button>
          )
        }
      >
        <div className="stack">
          <ProcessorChoice
            value={processor}
            onChange={(name) => {
              setOwnJson(null);
              change({ processor: name });
            }}
          />
          {ownJson !== null && processor !== 'noop' ? (
            <JsonOptions text={ownJson} onChange={setOwnJson} />
          ) : null}
          {ownJson === null && processor === 'validate' ? (
            <RuleFields rules={rules} columns={columns} error={error} onChange={setRules} />
          ) : null}
          {ownJson === null && processor === 'http' ? (
            <HttpFields draft={http} columns={columns} error={error} onChange={setHttp} />
          ) : null}
        </div>
      </Panel>
      {error === null ? null : <Problem error={error} />}
      {sentBytes === null ? (
        <SendButton hasFile={file !== null} isIncomplete={isIncomplete} />
      ) : (
        <SendingState sent={sentBytes} total={file?.size ?? 0} onStop={stop} />
      )}
    </form>
  );
}

/** Says what is missing, or what will happen. */
function SendButton({ hasFile, isIncomplete }: { hasFile: boolean; isIncomplete: boolean }) {
  const ready = isIncomplete ? 'Say first what happens to each row.' : 'The job starts when all rows are in.';
  return (
    <div className="row">
      <Button type="submit" disabled={!hasFile || isIncomplete}>
        Send the rows
      </Button>
      <span className="dim small">{hasFile ? ready : 'Choose a file first.'}</span>
    </div>
  );
}

function ProcessorChoice(props: { value: ProcessorName; onChange: (name: ProcessorName) => void }) {
  return (
    <fieldset className="processor-choice">
      <legend className="grid-hidden">Processor</legend>
      {processors.map(({ name, label, help }) => (
        <label key={name}>
          <input
            type="radio"
            name="processor"
            value={name}
            checked={props.value === name}
            onChange={() => props.onChange(name)}
          />
          <span>
            <b>{label}</b> <code className="dim">{name}</code>
          </span>
          <small>{help}</small>
        </label>
      ))}
    </fieldset>
  );
}

function JsonOptions({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <Textarea
      label="Options as JSON"
      description="As POST /api/jobs takes them; what the form has no field for is written here."
      autosize
      minRows={6}
      maxRows={24}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12 } }}
      value={text}
      error={jsonProblem(text)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function SendingState({ sent, total, onStop }: { sent: number; total: number; onStop: () => void }) {
  const isSent = total > 0 && sent >= total;
  const words = isSent
    ? 'All bytes are sent; the last rows are being written.'
    : `${bytes(sent)} of ${bytes(total)} sent; rows are written as they arrive.`;
  return (
    <div className="stack" aria-live="polite">
      <ProgressBar done={Math.min(sent, total)} total={total} label={words} isMoving />
      <div className="row">
        <span>{words}</span>
        <Button variant="default" onClick={onStop}>
          Stop
        </Button>
        <span className="dim small">A file that is stopped leaves no rows.</span>
      </div>
    </div>
  );
}

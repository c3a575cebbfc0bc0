import { Button, Textarea } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useCan } from '../../api/queries.ts';
import type { ItemTemplate } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { bytes } from '../../parts/number.ts';
import { Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ProgressBar } from '../../parts/progress.tsx';
import { type FilesKind, imageColumns, kindOfFiles } from './chosen-files.ts';
import { mappedColumns, mappingJson, mappingProblem } from './column-mapping.ts';
import { readFileColumns } from './file-columns.ts';
import { ItemsDrop } from './items-drop.tsx';
import { PreviewPart, TryRows, useMapping } from './mapping-step.tsx';
import { jsonProblem } from './processor-options.ts';
import { type NewItemsSearch, newItemsSearch } from './search.ts';
import { useSheet } from './sheet-field.tsx';
import { mappingFor, TemplateField } from './template-field.tsx';
import { useOptionDrafts } from './use-option-drafts.tsx';
import { useSending } from './use-sending.ts';
import './items.css';

type ProcessorName = NewItemsSearch['processor'];

interface ProcessorWords {
  name: ProcessorName;
  label: string;
  help: string;
  /** What it works on; without it, on both. */
  only?: 'rows' | 'images';
}

const processors: ProcessorWords[] = [
  {
    name: 'image',
    label: 'Read images',
    help: 'Size, format, hashes, colour and a thumbnail of each image.',
    only: 'images',
  },
  {
    name: 'validate',
    label: 'Check rows',
    help: 'Rules for columns: types, bounds, patterns. No provider is called.',
    only: 'rows',
  },
  {
    name: 'http',
    label: 'Call a provider',
    help: 'One call per row; the response becomes the row’s result.',
  },
  {
    name: 'llm',
    label: 'Ask a language model',
    help: 'A question about each row, at any OpenAI-compatible endpoint.',
    only: 'rows',
  },
  {
    name: 'chain',
    label: 'Several steps',
    help: 'One after another, or the next only where the one before found nothing.',
    only: 'rows',
  },
  {
    name: 'catalog',
    label: 'Match a catalogue',
    help: 'By SKU, by brand and title, or by similar titles; the product becomes the result.',
    only: 'rows',
  },
  { name: 'noop', label: 'Only store', help: 'Every row is its own result. Useful for trials.' },
];

export default function NewItemsPage() {
  const canCreate = useCan('item.create');
  return (
    <Page title="New items job" breadcrumbs={[{ label: 'Items', to: '/items' }]}>
      {canCreate ? (
        <NewItems />
      ) : (
        <div className="list-empty">
          <Empty sentence="Your role can read rows but not upload any. Ask a member or an admin of your tenant." />
        </div>
      )}
    </Page>
  );
}

function NewItems() {
  const [{ processor: wanted }, change] = useListState(newItemsSearch);
  const [files, setFiles] = useState<readonly File[]>([]);
  const kind = kindOfFiles(files);
  const processor = processorFor(wanted, { kind, hasFiles: files.length > 0 });
  const [columns, setColumns] = useState<string[]>([]);
  const [ownJson, setOwnJson] = useState<string | null>(null);
  const drafts = useOptionDrafts();
  const { sheet, sheetField } = useSheet(files);
  const { mapping, setMapping, preview, fileColumns } = useMapping(files, { sheet, columns });
  const { sentBytes, error, send, stop } = useSending();
  const fromForm = drafts.optionsOf(processor);
  const hasOptions = processor !== 'noop' && processor !== 'image';
  const options = ownJson ?? JSON.stringify(fromForm);
  const take = async (taken: File[]) => {
    setFiles(taken);
    setMapping({});
    const [first] = taken;
    const isRows = kindOfFiles(taken) === 'rows' && first !== undefined;
    const names = isRows ? await readFileColumns(first) : imageColumns;
    setColumns(names);
    drafts.takeColumns(names);
  };
  const isWithoutOptions = ownJson === null ? drafts.isIncomplete(processor) : jsonProblem(ownJson) !== null;
  const isIncomplete = isWithoutOptions || mappingProblem(fileColumns, mapping) !== null;
  const items = { files, processor, options, sheet, mapping: mappingJson(mapping) };
  const takeOver = (template: ItemTemplate) => {
    change({ processor: template.processor as ProcessorName });
    setOwnJson(JSON.stringify(template.options, null, 2));
    setMapping(mappingFor(template, fileColumns));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (files.length > 0 && kind !== 'mixed' && !isIncomplete) void send(items);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <ItemsDrop files={files} onFiles={(taken) => void take(taken)} isDisabled={sentBytes !== null} />
      {sheetField(error)}
      <TemplateField {...{ items, isIncomplete }} onChoose={takeOver} />
      <PreviewPart preview={preview} mapping={mapping} onChange={setMapping} />
      <OptionsPanel
        {...{ kind, processor, ownJson, setOwnJson, hasOptions, fromForm }}
        // Before there is a file, all of them: what can be done says what can be sent.
        offered={files.length === 0 ? 'mixed' : kind}
        onProcessor={(name) => change({ processor: name })}
        fields={() => drafts.fieldsOf(processor, { columns: mappedColumns(fileColumns, mapping), error })}
      />
      {preview.data === undefined ? null : <TryRows items={items} isIncomplete={isIncomplete} />}
      {error === null ? null : <Problem error={error} />}
      <SendingPart sentBytes={sentBytes} onStop={stop} {...{ files, kind, isIncomplete }} />
    </form>
  );
}

interface OptionsPanelProps {
  kind: FilesKind;
  offered: FilesKind;
  processor: ProcessorName;
  /** Options written as JSON; null: by the form. */
  ownJson: string | null;
  setOwnJson: (text: string | null) => void;
  hasOptions: boolean;
  fromForm: object;
  onProcessor: (name: ProcessorName) => void;
  fields: () => ReactNode;
}

function OptionsPanel(props: OptionsPanelProps) {
  const { kind, offered, processor, ownJson, setOwnJson, hasOptions, fromForm, onProcessor, fields } = props;
  return (
    <Panel
      title={`What happens to each ${kind === 'images' ? 'image' : 'row'}`}
      aside={
        hasOptions ? (
          <OptionsSwitch
            isJson={ownJson !== null}
            onSwitch={(isJson) => setOwnJson(isJson ? JSON.stringify(fromForm, null, 2) : null)}
          />
        ) : null
      }
    >
      <div className="stack">
        <ProcessorChoice
          value={processor}
          kind={offered}
          onChange={(name) => {
            setOwnJson(null);
            onProcessor(name);
          }}
        />
        {ownJson !== null && hasOptions ? <JsonOptions text={ownJson} onChange={setOwnJson} /> : null}
        {ownJson === null ? fields() : null}
      </div>
    </Panel>
  );
}

function OptionsSwitch({ isJson, onSwitch }: { isJson: boolean; onSwitch: (isJson: boolean) => void }) {
  return (
    <Button variant="subtle" onClick={() => onSwitch(!isJson)}>
      {isJson ? 'Back to the form' : 'Write the options as JSON'}
    </Button>
  );
}

/** Replaces the chosen processor if it cannot process these files. */
function processorFor(
  wanted: ProcessorName | undefined,
  { kind, hasFiles }: { kind: FilesKind; hasFiles: boolean },
): ProcessorName {
  const isFit = processors.some(({ name, only }) => name === wanted && fits(only, kind));
  if (wanted !== undefined && (isFit || !hasFiles)) return wanted;
  return kind === 'images' ? 'image' : 'validate';
}

function fits(only: ProcessorWords['only'], kind: FilesKind): boolean {
  return only === undefined || kind === 'mixed' || only === kind;
}

function SendingPart({
  sentBytes,
  onStop,
  ...button
}: SendButtonProps & { sentBytes: number | null; onStop: () => void }) {
  if (sentBytes === null) return <SendButton {...button} />;
  const total = button.files.reduce((sum, { size }) => sum + size, 0);
  return <SendingState sent={sentBytes} total={total} onStop={onStop} />;
}

interface SendButtonProps {
  files: readonly File[];
  kind: FilesKind;
  isIncomplete: boolean;
}

/** Says what is missing, or what will happen. */
function SendButton({ files, kind, isIncomplete }: SendButtonProps) {
  const noun = kind === 'images' ? 'image' : 'row';
  const words = () => {
    if (files.length === 0) return 'Choose a file first.';
    if (kind === 'mixed')
      return 'Choose one file of rows, several images, or one ZIP of images, not a mixture.';
    if (isIncomplete) return `Choose first what happens to each ${noun}.`;
    return `The job starts when all ${noun}s are in.`;
  };
  return (
    <div className="row">
      <Button type="submit" disabled={files.length === 0 || kind === 'mixed' || isIncomplete}>
        Send the {noun}s
      </Button>
      <span className="dim small">{words()}</span>
    </div>
  );
}

interface ProcessorChoiceProps {
  value: ProcessorName;
  kind: FilesKind;
  onChange: (name: ProcessorName) => void;
}

function ProcessorChoice(props: ProcessorChoiceProps) {
  const offered = processors.filter(({ only }) => fits(only, props.kind));
  return (
    <fieldset className="processor-choice">
      <legend className="grid-hidden">Processor</legend>
      {offered.map(({ name, label, help }) => (
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
      description="As in POST /api/jobs, including options that the form has no field for."
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
    ? 'Everything is sent; the last rows are being written.'
    : `${bytes(sent)} of ${bytes(total)} sent; everything is written as it arrives.`;
  return (
    <div className="stack" aria-live="polite">
      <ProgressBar done={Math.min(sent, total)} total={total} label={words} isMoving />
      <div className="row">
        <span>{words}</span>
        <Button variant="default" onClick={onStop}>
          Stop
        </Button>
        <span className="dim small">A stopped upload leaves nothing behind.</span>
      </div>
    </div>
  );
}

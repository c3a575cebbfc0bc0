import { Autocomplete, Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { type Sending, sendForm } from '../../api/send-form.ts';
import type { Catalog } from '../../api/types.ts';
import { notifyDone } from '../../parts/notify.ts';
import { bytes, plural } from '../../parts/number.ts';
import { Problem } from '../../parts/problem.tsx';
import { ProgressBar } from '../../parts/progress.tsx';
import { readFileColumns } from '../items/file-columns.ts';
import { useSheet } from '../items/sheet-field.tsx';

interface UploadDialogProps {
  /** Empty: a new one. */
  name: string;
  onClose: () => void;
  onDone: (catalog: Catalog) => void;
}

const fields = [
  { field: 'sku', label: 'SKU column' },
  { field: 'brand', label: 'Brand column' },
  { field: 'title', label: 'Title column' },
] as const;
type Columns = Record<(typeof fields)[number]['field'], string>;
const unnamed: Columns = { sku: '', brand: '', title: '' };

export function UploadDialog({ name: given, onClose, onDone }: UploadDialogProps) {
  const [name, setName] = useState(given);
  const [file, setFile] = useState<File | null>(null);
  const [columns, setColumns] = useState<string[]>([]);
  const [named, setNamed] = useState<Columns>(unnamed);
  const { sheet, sheetField } = useSheet(file === null ? [] : [file]);
  const { sentBytes, error, forget, send, stop } = useSending({ onClose, onDone });
  const isNameWrong = name !== '' && !/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name);
  const take = async (taken: File) => {
    setFile(taken);
    setNamed(unnamed);
    forget();
    setColumns(await readFileColumns(taken));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (file !== null) void send({ name, file, named, sheet });
  };
  return (
    <Modal opened onClose={onClose} title={given === '' ? 'Upload a catalogue' : `Replace ${given}`}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label="Name"
            required
            readOnly={given !== ''}
            description="Lower-case letters, digits, - and _; jobs refer to it by this name"
            value={name}
            error={isNameWrong ? 'Only lower-case letters, digits, - and _, at most 63' : undefined}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <FileChoice file={file} isDisabled={sentBytes !== null} onFile={(taken) => void take(taken)} />
          {sheetField(error)}
          {file === null ? null : <ColumnChoices columns={columns} named={named} onChange={setNamed} />}
          {error === null ? null : <Problem error={error} />}
          {sentBytes === null || file === null ? null : <SendingState sent={sentBytes} total={file.size} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={sentBytes === null ? onClose : stop}>
              {sentBytes === null ? 'Close' : 'Stop'}
            </Button>
            <Button
              type="submit"
              loading={sentBytes !== null}
              disabled={file === null || name === '' || isNameWrong}
            >
              {given === '' ? 'Upload products' : 'Replace all products'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function FileChoice(props: { file: File | null; isDisabled: boolean; onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div className="row">
      <input
        ref={input}
        className="catalog-file"
        type="file"
        tabIndex={-1}
        aria-label="File of products"
        accept=".csv,.tsv,.tab,.txt,.json,.ndjson,.jsonl,.xlsx,text/csv,application/json"
        disabled={props.isDisabled}
        onChange={(event) => {
          const [taken] = event.currentTarget.files ?? [];
          if (taken !== undefined) props.onFile(taken);
          event.currentTarget.value = '';
        }}
      />
      <Button variant="default" disabled={props.isDisabled} onClick={() => input.current?.click()}>
        {props.file === null ? 'Choose a file' : 'Choose another file'}
      </Button>
      <span className="catalog-words">
        {props.file === null ? (
          <span className="dim small">CSV, TSV, JSON, NDJSON or XLSX</span>
        ) : (
          <>
            {props.file.name} <span className="dim num">{bytes(props.file.size)}</span>
          </>
        )}
      </span>
    </div>
  );
}

function ColumnChoices(props: { columns: string[]; named: Columns; onChange: (named: Columns) => void }) {
  return (
    <>
      {fields.map(({ field, label }) => (
        <Autocomplete
          key={field}
          label={label}
          placeholder="Detect by name"
          data={[...new Set(props.columns)]}
          value={props.named[field]}
          onChange={(column) => props.onChange({ ...props.named, [field]: column })}
        />
      ))}
    </>
  );
}

function SendingState({ sent, total }: { sent: number; total: number }) {
  const words =
    sent >= total
      ? 'Everything is sent; the products are being written. The old ones stay in use until then.'
      : `${bytes(sent)} of ${bytes(total)} sent.`;
  return (
    <div className="stack" aria-live="polite">
      <ProgressBar done={Math.min(sent, total)} total={total} label={words} isMoving />
      <span className="small">{words}</span>
    </div>
  );
}

interface NewProducts {
  name: string;
  file: File;
  named: Columns;
  sheet: string;
}

function useSending({ onClose, onDone }: Pick<UploadDialogProps, 'onClose' | 'onDone'>) {
  const client = useQueryClient();
  const [sentBytes, setSent] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const abort = useRef<AbortController | null>(null);
  const send = async (products: NewProducts) => {
    abort.current = new AbortController();
    setError(null);
    setSent(0);
    try {
      const made = await sendProducts(products, { onProgress: setSent, signal: abort.current.signal });
      void client.invalidateQueries({ queryKey: ['catalogs'] });
      notifyDone(`${made.name} now has ${plural(made.productCount, 'product')}, version ${made.version}.`);
      onDone(made);
      onClose();
    } catch (problem) {
      if (!(problem instanceof DOMException && problem.name === 'AbortError')) setError(problem);
    } finally {
      setSent(null);
    }
  };
  return { sentBytes, error, forget: () => setError(null), send, stop: () => abort.current?.abort() };
}

/** Fields go before the file. */
function sendProducts(
  { name, file, named, sheet }: NewProducts,
  sending: Omit<Sending, 'idempotencyKey'>,
): Promise<Catalog> {
  const form = new FormData();
  const columns = Object.entries(named).filter(([, column]) => column.trim() !== '');
  if (columns.length > 0) form.set('fields', JSON.stringify(Object.fromEntries(columns)));
  if (sheet !== '') form.set('sheet', sheet);
  form.set('file', file, file.name);
  const brokenOff =
    'The server cannot be reached or ended the upload. The products are unchanged; try again.';
  const path = `/api/catalogs/${encodeURIComponent(name)}`;
  return sendForm(
    { method: 'PUT', path, form, brokenOff },
    { ...sending, idempotencyKey: crypto.randomUUID() },
  );
}

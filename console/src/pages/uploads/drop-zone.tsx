import { Button } from '@mantine/core';
import { type DragEvent, useId, useRef, useState } from 'react';
import { Icon } from '../../parts/icons.tsx';
import { bytes } from '../../parts/number.ts';

interface DropZoneProps {
  file: File | null;
  onFile: (file: File) => void;
  /** Why the file was refused. */
  error?: string | undefined;
  isDisabled?: boolean;
  /** Small, above a list. */
  isCompact?: boolean;
}

/** Takes one file, by dropping or by choosing; the button is what keyboards and screen readers use. */
export function DropZone({ file, onFile, error, isDisabled = false, isCompact = false }: DropZoneProps) {
  const [isOver, setIsOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const errorId = useId();
  const take = (files: FileList | null | undefined) => {
    const [first] = files ?? [];
    if (first !== undefined && !isDisabled) onFile(first);
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    if (!isDisabled) setIsOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    take(event.dataTransfer.files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button inside does the same
    <div
      className="drop-zone"
      data-over={isOver || undefined}
      data-compact={isCompact || undefined}
      data-refused={error !== undefined || undefined}
      onDragOver={over}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <Icon name={file === null ? 'upload' : 'file'} size={isCompact ? 18 : 26} />
      <FileWords file={file} isCompact={isCompact} />
      <input
        ref={input}
        type="file"
        accept=".csv,.tsv,.txt,.json,.ndjson,.xlsx,.gz,.zip,text/csv,application/json"
        aria-label="Report file"
        className="drop-input"
        tabIndex={-1}
        disabled={isDisabled}
        onChange={(event) => {
          take(event.currentTarget.files);
          // The same file, corrected, can be chosen again.
          event.currentTarget.value = '';
        }}
      />
      <Button
        variant="default"
        disabled={isDisabled}
        aria-describedby={error === undefined ? undefined : errorId}
        onClick={() => input.current?.click()}
      >
        {file === null ? 'Choose a file' : 'Choose another file'}
      </Button>
      {error === undefined ? null : (
        <p className="field-error" id={errorId} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function FileWords({ file, isCompact }: { file: File | null; isCompact: boolean }) {
  if (file !== null) {
    return (
      <p>
        <b className="file-name">{file.name}</b> <span className="dim num">{bytes(file.size)}</span>
      </p>
    );
  }
  return (
    <p>
      Drop an ad report here
      {isCompact ? null : (
        <span className="dim small drop-hint">
          CSV, XLSX or JSON as Meta, Google or TikTok exports it, or a ZIP or gzip of such, up to 50 MB
        </span>
      )}
    </p>
  );
}

import { Button } from '@mantine/core';
import { type DragEvent, useRef, useState } from 'react';
import { Icon } from '../../parts/icons.tsx';
import { bytes } from '../../parts/number.ts';

interface ItemsDropProps {
  file: File | null;
  onFile: (file: File) => void;
  isDisabled: boolean;
}

/** Takes one file, by dropping or by choosing; the button is what keyboards and screen readers use. */
export function ItemsDrop({ file, onFile, isDisabled }: ItemsDropProps) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: FileList | null) => {
    const [first] = files ?? [];
    if (first !== undefined && !isDisabled) onFile(first);
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(!isDisabled);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button inside does the same
    <div
      className="items-drop"
      data-over={isOver || undefined}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer.files);
      }}
    >
      <Icon name={file === null ? 'upload' : 'file'} size={26} />
      {file === null ? (
        <p>
          Drop a file of rows here
          <br />
          <span className="dim small">
            CSV, TSV, JSON (a list of objects) or NDJSON (one object per line)
          </span>
        </p>
      ) : (
        <p>
          <b>{file.name}</b> <span className="dim num">{bytes(file.size)}</span>
        </p>
      )}
      <input
        ref={input}
        type="file"
        tabIndex={-1}
        aria-label="File of rows"
        accept=".csv,.tsv,.tab,.txt,.json,.ndjson,.jsonl,text/csv,application/json"
        disabled={isDisabled}
        onChange={(event) => {
          take(event.currentTarget.files);
          // The same file, corrected, can be chosen again.
          event.currentTarget.value = '';
        }}
      />
      <Button variant="default" disabled={isDisabled} onClick={() => input.current?.click()}>
        {file === null ? 'Choose a file' : 'Choose another file'}
      </Button>
    </div>
  );
}

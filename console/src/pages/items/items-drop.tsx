import { Button } from '@mantine/core';
import { type DragEvent, useRef, useState } from 'react';
import { Icon } from '../../parts/icons.tsx';
import { bytes, count } from '../../parts/number.ts';
import { acceptedFiles } from './chosen-files.ts';

interface ItemsDropProps {
  files: readonly File[];
  onFiles: (files: File[]) => void;
  isDisabled: boolean;
}

/** Takes files, by dropping or by choosing; the button is what keyboards and screen readers use. */
export function ItemsDrop({ files, onFiles, isDisabled }: ItemsDropProps) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (taken: FileList | null) => {
    if (taken !== null && taken.length > 0 && !isDisabled) onFiles([...taken]);
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
      <Icon name={files.length === 0 ? 'upload' : 'file'} size={26} />
      {files.length === 0 ? (
        <p>
          Drop a file of rows here, or images
          <br />
          <span className="dim small">
            Rows: CSV, TSV, XLSX, JSON (a list of objects) or NDJSON (one object per line)
            <br />
            Images: several JPEG, PNG, GIF, WebP, TIFF or AVIF files, or one ZIP of them
          </span>
        </p>
      ) : (
        <ChosenFiles files={files} />
      )}
      <input
        ref={input}
        type="file"
        tabIndex={-1}
        aria-label="File of rows, or images"
        multiple
        accept={acceptedFiles}
        disabled={isDisabled}
        onChange={(event) => {
          take(event.currentTarget.files);
          // The same file, corrected, can be chosen again.
          event.currentTarget.value = '';
        }}
      />
      <Button variant="default" disabled={isDisabled} onClick={() => input.current?.click()}>
        {files.length === 0 ? 'Choose a file or images' : 'Choose other files'}
      </Button>
    </div>
  );
}

/** More than these are only counted. */
const mostNames = 3;

function ChosenFiles({ files }: { files: readonly File[] }) {
  const sum = files.reduce((total, { size }) => total + size, 0);
  const names = files.slice(0, mostNames).map(({ name }) => name);
  const more = files.length - names.length;
  return (
    <p className="items-chosen">
      <b>{names.join(', ')}</b>
      {more > 0 ? ` and ${count(more)} more` : ''} <span className="dim num">{bytes(sum)}</span>
    </p>
  );
}

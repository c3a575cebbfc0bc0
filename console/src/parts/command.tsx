import { useClipboard } from '@mantine/hooks';
import { Icon } from './icons.tsx';

/** A command line to copy. */
export function Command({ line }: { line: string }) {
  return (
    <div className="command">
      <code>{line}</code>
      <CopyButton value={line} label="Copy" />
    </div>
  );
}

export function CopyButton({ value, label }: { value: string; label: string }) {
  const clipboard = useClipboard({ timeout: 1_500 });
  return (
    <button type="button" className="copy" onClick={() => clipboard.copy(value)}>
      <Icon name={clipboard.copied ? 'check' : 'copy'} size={13} />
      <span aria-live="polite">{clipboard.copied ? 'Copied' : label}</span>
    </button>
  );
}

/** An id: shown short, copied whole. */
export function Id({ value, length = 8 }: { value: string; length?: number }) {
  const clipboard = useClipboard({ timeout: 1_500 });
  const isShort = value.length <= length + 2;
  return (
    <button
      type="button"
      className="id"
      title={`${value} · click to copy`}
      aria-label={`Copy ${value}`}
      onClick={() => clipboard.copy(value)}
    >
      {clipboard.copied ? 'copied' : isShort ? value : `${value.slice(0, length)}…`}
    </button>
  );
}

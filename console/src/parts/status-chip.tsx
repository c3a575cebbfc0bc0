import { Icon } from './icons.tsx';
import { type StatusHouse, statusLook } from './status.ts';

interface StatusChipProps {
  status: string;
  /** Whose words they are, where that changes the meaning: jobs and syncs (`failed` = waiting for retry). */
  of?: StatusHouse;
  /** Another word for the same state, such as "waits for your mapping". */
  word?: string;
  /** Sits beside the word: "5 errors" is a chip with the count 5. */
  count?: number;
}

export function StatusChip({ status, of, word, count }: StatusChipProps) {
  const look = statusLook(status, of);
  return (
    <span className="chip" data-tone={look.tone} title={status}>
      <Icon name={look.icon} size={13} />
      {count === undefined ? null : <b>{count.toLocaleString('en')}</b>}
      <span className="chip-word">{word ?? look.word}</span>
    </span>
  );
}

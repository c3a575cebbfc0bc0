import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { plural } from './number.ts';

interface SelectBarProps {
  /** How many are chosen; at 0 the bar is away. */
  count: number;
  noun: string;
  onClear: () => void;
  /** "All 1,204 matching": offered when more match than are chosen and the API can act on all of them. */
  matching?: { label: string; isOn: boolean; choose: () => void } | undefined;
  /** Buttons that say what they will do, with the number. */
  children: ReactNode;
}

/** At the bottom while something is chosen. */
export function SelectBar({ count, noun, onClear, matching, children }: SelectBarProps) {
  if (count === 0 && !matching?.isOn) return null;
  return (
    <section className="select-bar" aria-label="Actions for the selection">
      <span aria-live="polite">{matching?.isOn ? matching.label : `${plural(count, noun)} chosen`}</span>
      {matching !== undefined && !matching.isOn ? (
        <Button variant="subtle" onClick={matching.choose}>
          Choose {matching.label.toLowerCase()}
        </Button>
      ) : null}
      <div className="select-bar-actions">{children}</div>
      <Button variant="subtle" color="gray" onClick={onClear}>
        Clear selection
      </Button>
    </section>
  );
}

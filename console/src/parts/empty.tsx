import type { ReactNode } from 'react';
import { Command } from './command.tsx';

interface EmptyProps {
  /** One sentence: what would be here, and how it gets here. */
  sentence: string;
  /** A muted picture of the result: the cells of a sample row. */
  sample?: readonly ReactNode[];
  /** The one thing to do. */
  button?: ReactNode;
  /** The same from a terminal. */
  command?: string;
}

export function Empty({ sentence, sample, button, command }: EmptyProps) {
  return (
    <div className="empty">
      {sample === undefined ? null : (
        <div className="empty-sample" aria-hidden="true">
          {sample.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a picture never move
            <span key={index}>{cell}</span>
          ))}
        </div>
      )}
      <p>{sentence}</p>
      {button}
      {command === undefined ? null : <Command line={command} />}
    </div>
  );
}

import { Modal, TextInput } from '@mantine/core';
import { type KeyboardEvent, useId, useState } from 'react';
import { useMe } from '../api/queries.ts';
import { Icon } from './icons.tsx';
import { type Choice, choicesFor } from './palette-choices.ts';
import { useGo } from './to.tsx';

/** Search and go anywhere: places, things to make, and ids that were pasted. */
export function Palette({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal.Root opened={opened} onClose={onClose} yOffset="12vh" padding={0} centered={false}>
      <Modal.Overlay />
      <Modal.Content aria-label="Search or go to">
        <Modal.Body>
          <PaletteBody onClose={onClose} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function PaletteBody({ onClose }: { onClose: () => void }) {
  const goTo = useGo();
  const rights = useMe()?.rights ?? [];
  const listId = useId();
  const [words, setWords] = useState('');
  const [active, setActive] = useState(0);
  const choices = choicesFor(words, rights);
  const go = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    onClose();
    goTo(choice.href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setActive((before) => Math.min(Math.max(before + step, 0), choices.length - 1));
    } else if (event.key === 'Enter') go(choices[active]);
  };
  return (
    <>
      <TextInput
        data-autofocus
        className="palette-input"
        aria-label="Go to"
        placeholder="Go to a page, a job id, an event type …"
        leftSection={<Icon name="search" />}
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={`${listId}-${active}`}
        value={words}
        onChange={(event) => {
          setWords(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette" id={listId} role="listbox" aria-label="Places">
        {choices.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          <div
            key={choice.href + choice.label}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => go(choice)}
            onPointerMove={() => setActive(index)}
          >
            <Icon name={choice.icon} />
            <span>{choice.label}</span>
            {choice.hint === undefined ? null : <span className="dim">{choice.hint}</span>}
          </div>
        ))}
        {choices.length === 0 ? (
          <p className="dim">No page has this name. Paste an id to find what it belongs to.</p>
        ) : null}
      </div>
    </>
  );
}

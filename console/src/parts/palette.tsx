import { Modal, TextInput, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useState } from 'react';
import { api } from '../api/client.ts';
import { useNeeds } from '../api/needs.ts';
import { useCan, useMe } from '../api/queries.ts';
import { Icon } from './icons.tsx';
import { type Choice, choicesFor, type Found } from './palette-choices.ts';
import { useGo } from './to.tsx';

/** Search and go anywhere: things by name or id, places, things to make, and actions. */
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
  const { found, isLooking } = useFound(words);
  const choices = choicesFor(words, { rights, found, actions: useActions() });
  const go = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    onClose();
    choice.act?.();
    if (choice.href !== null) goTo(choice.href);
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
        placeholder="A name, an id, a page, an action …"
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
            key={`${choice.href} ${choice.label} ${choice.hint ?? ''}`}
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
          <p className="dim">{isLooking ? 'Looking …' : 'Nothing that you may see has this name or id.'}</p>
        ) : null}
      </div>
    </>
  );
}

const settleMs = 120;
const maxFound = 8;

/** What the server finds for the words, shortly after the last key. */
function useFound(words: string): { found: readonly Found[]; isLooking: boolean } {
  const [typed] = useDebouncedValue(words.trim(), settleMs);
  const isAsked = typed.length >= 2 && typed.length <= 200;
  const query = useQuery({
    queryKey: ['find', typed],
    queryFn: () => api.get('/api/search', { query: { q: typed, limit: maxFound } }),
    enabled: isAsked,
    placeholderData: keepPreviousData,
  });
  const isCurrent = words.trim().length >= 2;
  return { found: isCurrent ? (query.data?.data ?? []) : [], isLooking: isAsked && query.isFetching };
}

/** What can be done from anywhere. */
function useActions(): Choice[] {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const mayRequeue = useCan('dead_letter.requeue');
  const { needs } = useNeeds();
  const letters = mayRequeue ? needs.filter(({ kind }) => kind === 'dead_letters') : [];
  return [
    ...letters.map(
      ({ sentence, href, code }): Choice => ({
        label: `Requeue ${sentence}`,
        href,
        icon: 'retry',
        hint: `${code ?? ''} errors`,
      }),
    ),
    {
      label: `Switch to ${other}`,
      href: null,
      icon: other === 'dark' ? 'moon' : 'sun',
      hint: `${other} mode`,
      act: () => setColorScheme(other),
    },
  ];
}

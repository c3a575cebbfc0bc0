import { Kbd, Modal } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { type KeyMap, listenToKeys, useKeys } from './keys.ts';
import { Palette } from './palette.tsx';
import { places } from './places.ts';

const rowKeys: readonly [keys: string, meaning: string][] = [
  ['j', 'next row'],
  ['k', 'previous row'],
  ['Enter', 'open the row'],
  ['x', 'choose the row'],
];

/** The keys of the whole console, their help, and the palette. Stands once in the shell. */
export function Keyboard() {
  const navigate = useNavigate();
  const [shown, setShown] = useState<'none' | 'help' | 'palette'>('none');
  useEffect(listenToKeys, []);
  useEffect(() => {
    openPalette = () => setShown('palette');
    openHelp = () => setShown('help');
  }, []);
  const goTo: KeyMap = Object.fromEntries(
    places.flatMap(({ key, to }) => (key === null ? [] : [[`g ${key}`, () => void navigate({ to })]])),
  );
  useKeys({
    ...goTo,
    '/': () => setShown('palette'),
    'mod+k': () => setShown((before) => (before === 'palette' ? 'none' : 'palette')),
    '?': () => setShown('help'),
  });
  return (
    <>
      <Palette opened={shown === 'palette'} onClose={() => setShown('none')} />
      <Modal opened={shown === 'help'} onClose={() => setShown('none')} title="Keys">
        <KeyHelp />
      </Modal>
    </>
  );
}

let openPalette: () => void = () => {};
let openHelp: () => void = () => {};

/** For the search button in the top bar. */
export function showPalette(): void {
  openPalette();
}

export function showKeyHelp(): void {
  openHelp();
}

function KeyHelp() {
  const going = places.flatMap(({ key, label }) => (key === null ? [] : [[`g ${key}`, label] as const]));
  const general = [
    ['/', 'search'],
    ['⌘K or Ctrl K', 'search and go anywhere'],
    ['?', 'this help'],
  ] as const;
  return (
    <div className="key-help">
      {[...general, ...rowKeys, ...going].map(([keys, meaning]) => (
        <p key={keys}>
          <Kbd size="xs">{keys}</Kbd> {meaning}
        </p>
      ))}
    </div>
  );
}

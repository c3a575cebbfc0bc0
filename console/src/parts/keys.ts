import { useEffect, useRef } from 'react';

/** What a key does; false when there is nothing to do and the browser should have it. */
type KeyAction = (event: KeyboardEvent) => unknown;

/** A key or a sequence of two, such as `j`, `g u`, `mod+k`, mapped to what it does. */
export type KeyMap = Record<string, KeyAction>;

const sequenceMs = 1_200;
const registered = new Set<{ current: KeyMap }>();
let pending: { key: string; at: number } | null = null;

/** Registers keys while the component is shown; the component that came last is asked first. */
export function useKeys(map: KeyMap): void {
  const latest = useRef(map);
  latest.current = map;
  useEffect(() => {
    registered.add(latest);
    return () => {
      registered.delete(latest);
    };
  }, []);
}

/** One listener for the page. */
export function listenToKeys(): () => void {
  const listener = (event: KeyboardEvent) => {
    const name = keyName(event);
    if (name === null || (isTyping(event.target) && !name.startsWith('mod+'))) return;
    const sequence =
      pending !== null && Date.now() - pending.at < sequenceMs ? `${pending.key} ${name}` : null;
    const act = (sequence && find(sequence)) || find(name);
    pending = act === null && name.length === 1 ? { key: name, at: Date.now() } : null;
    if (act !== null && act(event) !== false) event.preventDefault();
  };
  document.addEventListener('keydown', listener);
  return () => document.removeEventListener('keydown', listener);
}

/** How a key is written in a KeyMap; null for keys that are left to the browser. */
export function keyName(event: Pick<KeyboardEvent, 'key' | 'metaKey' | 'ctrlKey' | 'altKey'>): string | null {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.altKey) return null;
  if (event.metaKey || event.ctrlKey) return key === 'k' ? 'mod+k' : null;
  return key;
}

function find(name: string): KeyAction | null {
  // A dialog has the keys for itself, except for those that it registered.
  for (const map of [...registered].reverse()) {
    const act = map.current[name];
    if (act !== undefined) return isBehindDialog() && !name.startsWith('mod+') ? null : act;
  }
  return null;
}

function isBehindDialog(): boolean {
  return document.querySelector('[role="dialog"][aria-modal="true"]') !== null;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type);
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName);
}

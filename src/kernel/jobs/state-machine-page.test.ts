import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { transitions } from './transitions.ts';

const script = new URL('../../../scripts/pages/state-machines.mjs', import.meta.url).href;
const { stateMachinePage } = await import(script);

const file = path.join(import.meta.dirname, '../../../docs/state-machines.md');

test('docs/state-machines.md shows the machine that the program has', () => {
  expect(readFileSync(file, 'utf8'), 'run `npm run generate`').toBe(stateMachinePage(transitions));
});

test('the page names every legal move, in the table and in the diagram', () => {
  const page = stateMachinePage(transitions);
  for (const { move, from, to, when } of transitions) {
    expect(page).toContain(`| ${move} | ${from} | ${to} | ${when} |`);
    expect(page).toMatch(new RegExp(`^ {2}${from} --> ${to}: .*\\b${move}\\b`, 'm'));
  }
});

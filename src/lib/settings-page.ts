import { isComputed, type Setting, type SettingsTable } from './settings.ts';

/** The reference of all settings as Markdown, one row each. */
export function settingsReference(table: SettingsTable): string {
  const rows = Object.entries(table).map(([name, entry]) => {
    const cells = [
      variableCell(entry),
      `\`${name}\``,
      flagCell(entry),
      defaultCell(entry),
      entry.allowed,
      entry.describe,
    ];
    return `| ${cells.map(escapeCell).join(' | ')} |`;
  });
  return [
    '| variable | in sluice.config | flag | default | allowed | what it is for |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function variableCell(entry: Setting): string {
  return entry.secret === undefined ? `\`${entry.env}\`` : `\`${entry.env}\`, \`${entry.env}_FILE\``;
}

function flagCell(entry: Setting): string {
  return entry.flag === undefined ? '' : `\`${entry.flag}\``;
}

function defaultCell(entry: Setting): string {
  if (isComputed(entry.default)) return entry.default.text;
  return entry.default === null ? 'not set' : `\`${String(entry.default)}\``;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}

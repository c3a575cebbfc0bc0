/** The whole page about the settings; `chapters` are what the config file may hold besides, in Markdown. */
export function renderSettingsPage(table, { chapters }) {
  return `# Configuration

<!-- Generated from the settings of kernel and houses by \`npm run generate\`. -->

A value is taken from the first of: a flag of the command, the environment, the file \`.env\` in the working
directory, \`sluice.config.mjs\` there (or \`sluice.config.ts\` with Node 22.18 or newer), the default. An empty
variable counts as not set. Everything is read once, at start, and all problems are reported together. \`sluice config\`
prints the values in effect and where each came from, with secrets masked.

A secret can also be given as a file: \`SLUICE_JWT_SECRET_FILE=/run/secrets/jwt\`. A file of settings looks like this:

\`\`\`js
// sluice.config.mjs
export default { port: 8080, workerConcurrency: 16, logLevel: 'info' };
\`\`\`

${[...chapters, settingsReference(table)].join('\n\n')}
`;
}
/** The reference of all settings as Markdown, one row each. */
function settingsReference(table) {
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
function variableCell(entry) {
  return entry.secret === undefined ? `\`${entry.env}\`` : `\`${entry.env}\`, \`${entry.env}_FILE\``;
}
function flagCell(entry) {
  return entry.flag === undefined ? '' : `\`${entry.flag}\``;
}
function defaultCell(entry) {
  if (typeof entry.default?.from === 'function') return entry.default.text;
  return entry.default === null ? 'not set' : `\`${String(entry.default)}\``;
}
function escapeCell(text) {
  return text.replaceAll('|', '\\|');
}

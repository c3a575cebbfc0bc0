/** The text of docs/errors.md. Every code is a heading, so that a problem’s `type` leads to it. */
export function renderErrorsDocument(chapters) {
  const lines = [
    '# Errors',
    '',
    'Generated from the catalogues by `npm run generate`; do not edit.',
    '',
    'The API returns errors as `application/problem+json` (RFC 9457) with a stable `code`; `detail` says what happened',
    'this time, `errors` points at wrong input, `request_id` is in the log. Errors of kind `transient` and',
    '`rate_limited` pass: repeat the request, after `Retry-After` where it is given. The command line shows the same',
    'codes.',
    '',
  ];
  for (const { title, catalogue } of chapters) {
    lines.push(`## ${title}`, '');
    for (const [code, definition] of sortedEntries(catalogue.definitions)) {
      lines.push(`### ${code}`, '', `${definition.title}. (${definition.status}, ${definition.kind})`, '');
      lines.push(definition.next, '');
    }
  }
  return `${lines.join('\n').trimEnd()}\n`;
}
function sortedEntries(definitions) {
  return Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1));
}

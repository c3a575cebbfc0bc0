/** A push that works as it stands: one reference with everything that a reference can have. */
export function pushCommand(source: string, kbId: string): string {
  const reference = {
    external_id: 'crane',
    url: 'https://harbour.example.com/crane',
    title: 'The crane',
    content: 'The crane lifts 12 t.',
    metadata: { page: 3 },
  };
  return `echo '${JSON.stringify(reference)}' | sluice scrape ${quoted(source)} --file - --kb ${quoted(kbId)}`;
}

function quoted(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

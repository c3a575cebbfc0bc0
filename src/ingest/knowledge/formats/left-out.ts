const longestQuote = 200;

/** What readers leave out of the text of office documents, as notes for people. */
export function leftOutNotes({
  hasComments,
  margins,
}: {
  hasComments: boolean;
  /** The texts of headers and footers. */
  margins: Iterable<string>;
}): string[] {
  // Numbers of pages say nothing.
  const texts = [...margins].map((text) => text.replace(/\s+/g, ' ').trim());
  const shown = [...new Set(texts)].filter((text) => /\p{L}{3}/u.test(text)).join(' · ');
  const quoted = shown.length > longestQuote ? `${shown.slice(0, longestQuote)}…` : shown;
  return [
    ...(hasComments ? ['Comments were left out.'] : []),
    ...(shown === '' ? [] : [`Headers and footers were left out: ${quoted}`]),
  ];
}

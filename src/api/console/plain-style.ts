/** The style of the pages that the server writes itself: the API reference, and what stands in for the console. */
export const plainStyle = `:root {
  color-scheme: light dark;
  font-family: system-ui, sans-serif;
  line-height: 1.5;
}

main {
  max-width: 60rem;
  margin: 2rem auto;
  padding: 0 1rem;
}

dl {
  display: grid;
  grid-template-columns: max-content 1fr;
  gap: 0.25rem 1rem;
}

dt {
  font-weight: 600;
}

dd {
  margin: 0;
}

dd ul {
  margin: 0;
  padding: 0;
  list-style: none;
}

details {
  margin: 0.5rem 0;
}

summary {
  cursor: pointer;
}

pre {
  overflow-x: auto;
  padding: 0.5rem;
  border: 1px solid;
  border-radius: 0.25rem;
}

td {
  padding-right: 1rem;
  vertical-align: top;
}
`;

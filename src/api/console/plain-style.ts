/** The style of the pages that the server writes itself: the API reference, and what stands in for the console. */
export const plainStyle = `:root {
  color-scheme: light dark;
  font-family: system-ui, sans-serif;
  line-height: 1.5;
}

header {
  display: flex;
  gap: 1.5rem;
  max-width: 60rem;
  margin: 1rem auto 0;
  padding: 0 1rem;
}

nav ul {
  display: flex;
  flex-wrap: wrap;
  gap: 0.25rem 1rem;
  padding: 0;
  list-style: none;
}

img {
  max-width: 100%;
}

table {
  display: block;
  overflow-x: auto;
  border-collapse: collapse;
}

th {
  padding-right: 1rem;
  text-align: left;
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

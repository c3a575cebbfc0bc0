/** The style of the pages that the server writes itself: documentation, API reference, and a console not built. */
export const plainStyle = `@font-face {
  font-family: Inter;
  font-weight: 100 900;
  font-display: swap;
  src: url("/api/docs/inter.woff2") format("woff2");
}

:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f7f8, #14181b);
  --surface: light-dark(#ffffff, #1b2024);
  --line: light-dark(#e2e6ea, #2d353b);
  --ink: light-dark(#1c2329, #e3e7ea);
  --dim: light-dark(#5b6570, #a5aeb7);
  --accent: light-dark(#0f766e, #4cc7b8);
  --chosen: light-dark(#e6f4f2, #16332f);
  --code: light-dark(#f1f4f5, #22282d);
  font: 15px/1.6 Inter, system-ui, sans-serif;
  background: var(--ground);
  color: var(--ink);
  scroll-padding-top: 64px;
}

body {
  margin: 0;
}

a {
  color: var(--accent);
  text-decoration: none;
}

a:hover {
  text-decoration: underline;
}

:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 1px;
}

header {
  position: sticky;
  top: 0;
  z-index: 1;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 20px;
  min-height: 48px;
  padding: 0 20px;
  border-bottom: 1px solid var(--line);
  background: var(--surface);
}

header a {
  color: var(--ink);
}

header a[aria-current] {
  color: var(--accent);
  font-weight: 600;
}

header .home {
  display: flex;
  align-items: center;
  gap: 8px;
  font-weight: 600;
}

header svg {
  width: 22px;
  height: 22px;
}

.site {
  display: grid;
  grid-template: "bar bar bar" "pages text contents" / 240px minmax(0, 1fr) 220px;
  align-items: start;
}

.site > header {
  grid-area: bar;
}

.site > nav {
  grid-area: pages;
  position: sticky;
  top: 49px;
  max-height: calc(100vh - 49px);
  box-sizing: border-box;
  overflow-y: auto;
  padding: 16px 12px;
  font-size: 14px;
}

.site > nav summary {
  padding: 4px 8px;
  color: var(--dim);
  font-size: 12px;
  font-weight: 600;
  cursor: pointer;
}

.site > nav ul,
.site > aside ul,
.cards {
  margin: 0 0 12px;
  padding: 0;
  list-style: none;
}

.site > nav li a {
  display: block;
  padding: 3px 8px;
  border-radius: 6px;
  color: var(--ink);
}

.site > nav li a[aria-current] {
  background: var(--chosen);
  color: var(--accent);
  font-weight: 600;
}

.site > aside {
  grid-area: contents;
  position: sticky;
  top: 49px;
  max-height: calc(100vh - 49px);
  box-sizing: border-box;
  overflow-y: auto;
  padding: 24px 16px;
  font-size: 13px;
}

.site > aside li {
  margin: 6px 0;
}

.site > aside a {
  color: var(--dim);
}

main {
  max-width: 820px;
  padding: 24px 32px 64px;
}

.site > main {
  grid-area: text;
  box-sizing: border-box;
  width: 100%;
  margin: 0 auto;
}

.reference > main {
  max-width: 1000px;
  margin: 0 auto;
}

body:not([class]) > main {
  margin: 10vh auto 0;
}

h1 {
  margin: 0 0 16px;
  font-size: 28px;
  line-height: 1.25;
}

h2 {
  margin: 40px 0 12px;
  font-size: 20px;
  line-height: 1.3;
}

h3 {
  margin: 28px 0 8px;
  font-size: 16px;
}

h4 {
  margin: 16px 0 4px;
  font-size: 14px;
}

.cards {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(230px, 1fr));
  gap: 12px;
}

.cards li {
  padding: 12px 16px;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--surface);
}

.cards p {
  margin: 4px 0 0;
  color: var(--dim);
  font-size: 13px;
  line-height: 1.45;
}

.reference > main > nav ul {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 16px;
  padding: 0;
  list-style: none;
}

img {
  max-width: 100%;
}

code,
pre {
  font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}

:not(pre) > code {
  padding: 1px 4px;
  border-radius: 4px;
  background: var(--code);
  overflow-wrap: anywhere;
}

pre {
  overflow-x: auto;
  padding: 12px 16px;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--code);
}

table {
  display: block;
  overflow-x: auto;
  border-collapse: collapse;
  font-size: 14px;
}

th,
td {
  padding: 6px 16px 6px 0;
  border-bottom: 1px solid var(--line);
  text-align: left;
  vertical-align: top;
}

td {
  font-variant-numeric: tabular-nums;
}

td:first-child {
  font-variant-numeric: normal;
}

th:empty {
  padding: 0;
}

blockquote {
  margin: 16px 0;
  padding: 0 16px;
  border-left: 3px solid var(--accent);
  color: var(--dim);
}

dl {
  display: grid;
  grid-template-columns: max-content minmax(0, 1fr);
  gap: 4px 16px;
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

main details {
  margin: 4px 0;
  padding: 6px 12px;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--surface);
}

main summary {
  cursor: pointer;
}

@media (max-width: 1100px) {
  .site {
    grid-template: "bar bar" "pages text" / 220px minmax(0, 1fr);
  }

  .site > aside {
    display: none;
  }
}

@media (max-width: 720px) {
  .site {
    display: block;
  }

  .site > nav {
    position: static;
    max-height: none;
    padding: 8px 12px;
    border-bottom: 1px solid var(--line);
  }

  main {
    padding: 16px;
  }
}
`;

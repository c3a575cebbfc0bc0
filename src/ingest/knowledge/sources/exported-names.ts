/** Notion ends each name with the id of the page, which stays when the page is renamed or moved. */
const notionId = / ([0-9a-f]{32})(?=(?:_all)?(?:\.[A-Za-z0-9]{1,10})?$)/;
/** Confluence ends the names of pages with their ids, or has nothing but them. */
const confluenceId = /[_-](\d{5,19})(?=\.html?$)/;

export interface ExportedName {
  /** What stays the same when the page is renamed, with its folders for people and for rules. */
  identity: string;
  /** For people, and for a document without a title of its own. */
  shownName: string;
}

/** The name of a file in an export, and what it says of the page. Names without an id are taken as they are. */
export function exportedName(name: string): ExportedName {
  const segments = name.split('/');
  const last = segments.at(-1) ?? name;
  const folders = segments.slice(0, -1).map((segment) => segment.replace(notionId, ''));
  const id = notionId.exec(last);
  if (id !== null) {
    const shown = last.replace(notionId, '');
    const ending = /\.[A-Za-z0-9]{1,10}$/.exec(last)?.[0] ?? '';
    return { identity: [...folders, `${id[1]}${ending}`].join('/'), shownName: shown };
  }
  const page = confluenceId.exec(last);
  if (page === null) return { identity: [...folders, last].join('/'), shownName: last };
  const title = last.slice(0, page.index).replace(/-+/g, ' ').trim();
  return {
    identity: [...folders, `${page[1]}.html`].join('/'),
    shownName: title === '' ? last : `${title}.html`,
  };
}

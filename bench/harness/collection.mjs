// A published test collection in the format of the SMART system, as Cranfield, CISI and others are distributed:
// documents (*.all*), questions (*.qry) and judgements (*rel) in one folder. No collection is part of the project.
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Returns `{ name, documents: [{ id, title, text }], queries: [{ text, gains }] }`; `gains` maps ids to numbers. */
export async function readCollection(folder) {
  const [documentFile, queryFile, judgementFile] = await findFiles(folder);
  const documents = recordsOf(await readFile(documentFile, 'utf8')).map(documentOf);
  const gains = gainsOf(await readFile(judgementFile, 'utf8'));
  const queries = recordsOf(await readFile(queryFile, 'utf8'))
    // Judgements name a question by its position in the file; the ids of Cranfield's questions have gaps.
    .map((record, at) => ({ text: flat(record.W ?? ''), gains: gains.get(at + 1) ?? new Map() }))
    .filter(({ text, gains: known }) => text !== '' && known.size > 0);
  return { name: basename(folder), documents: documents.filter(({ text }) => text !== ''), queries };
}

async function findFiles(folder) {
  const names = await readdir(folder);
  return [/\.all/i, /\.qry$/i, /rel$/i].map((pattern) => {
    const found = names.filter((name) => pattern.test(name));
    if (found.length !== 1)
      throw new Error(`${folder} has ${found.length} files like ${pattern}; one is needed`);
    return join(folder, found[0]);
  });
}

/** A record begins with `.I`, a field with a dot and its letter. */
function recordsOf(content) {
  const records = [];
  let field = null;
  for (const line of content.split(/\r?\n/)) {
    const marked = /^\.([A-Z])(?:\s+(.*))?$/.exec(line);
    if (marked?.[1] === 'I') {
      records.push({ I: marked[2] });
      field = null;
    } else if (marked && !marked[2]) {
      field = marked[1];
    } else if (field !== null && records.length > 0) {
      const record = records.at(-1);
      record[field] = `${record[field] ?? ''}${line}\n`;
    }
  }
  return records;
}

/** The text of a Cranfield document repeats its title. */
function documentOf({ I: id, T: title = '', W: body = '' }) {
  const heading = flat(title);
  const text = flat(body);
  return {
    id: String(Number(id)),
    title: heading,
    text: text.startsWith(heading) ? text.slice(heading.length).trim() : text,
  };
}

/**
 * The gain of a judgement is 5 - code: 1 is the best of Cranfield's codes and 4 the worst. A code outside of 1 to 4 (its
 * -1, and the 0 of collections that only list what is relevant) counts as 1. What Cranfield's -1 means is not documented
 * with it, and figures depend on it: with 0 for it a plain BM25 gets .365 instead of .432, with 5 - (-1) it gets .538.
 */
function gainsOf(content) {
  const gains = new Map();
  for (const line of content.split(/\r?\n/)) {
    const [query, document, code] = line.trim().split(/\s+/).map(Number);
    if (!query || !document) continue;
    const gain = code >= 1 && code <= 4 ? 5 - code : 1;
    const known = gains.get(query) ?? new Map();
    gains.set(query, known.set(String(document), gain));
  }
  return gains;
}

function flat(text) {
  return text.replace(/\s+/g, ' ').trim();
}

const depth = 10;

/** Means over all questions; `ranked` has the ids of the documents that each question found, best first. */
export function judge(queries, ranked) {
  const each = queries.map(({ gains }, at) => {
    const found = ranked[at].slice(0, depth);
    const best = [...gains.values()].sort((a, b) => b - a).slice(0, depth);
    const hits = found.filter((id) => gains.has(id)).length;
    return {
      ndcg: discounted(found.map((id) => gains.get(id) ?? 0)) / discounted(best),
      recall: hits / gains.size,
    };
  });
  const mean = (key) => each.reduce((sum, figures) => sum + figures[key], 0) / each.length;
  return { ndcg: mean('ndcg'), recall: mean('recall') };
}

function discounted(gains) {
  return gains.reduce((sum, gain, place) => sum + gain / Math.log2(place + 2), 0);
}

/** Documents in the order of their best passage. */
export function documentsOf(passages) {
  return [...new Set(passages)];
}

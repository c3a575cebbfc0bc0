import { type Dice, diceFrom } from './dice.ts';
import { formats, type Section, write } from './documents.ts';
import { fill, fillerParagraph, fillerTopics } from './filler.ts';
import { keywords } from './keywords.ts';
import { answerOf, plainText } from './passage.ts';
import { homePassages } from './passages/home.ts';
import { technologyPassages } from './passages/technology.ts';
import { workPassages } from './passages/work.ts';
import { worldPassages } from './passages/world.ts';

export interface CorpusFile {
  name: string;
  content: Buffer;
}

export const queryKinds = ['question', 'paraphrase', 'keyword'] as const;
export type QueryKind = (typeof queryKinds)[number];

/** A search, and what a chunk must contain to be what was looked for; no other file of the corpus has it. */
export interface Query {
  kind: QueryKind;
  query: string;
  answer: string;
  file: string;
}

export interface Corpus {
  files: CorpusFile[];
  queries: Query[];
}

const passages = [...workPassages, ...homePassages, ...technologyPassages, ...worldPassages];
const defaultSize = 300;
const seed = 20_260_401;

interface Planned {
  /** What the document is there for; null: it is only in the way. */
  passage: Section | null;
  queries: Omit<Query, 'file'>[];
}

/** Documents of all formats: one for each answer, one for each text that is near it, and others about neither. */
export function makeCorpus(size = defaultSize): Corpus {
  const dice = diceFrom(seed);
  const planned = dice.shuffled([...planPassages(), ...planKeywords()]);
  if (size < planned.length)
    throw new Error(`A corpus has at least ${planned.length} documents, not ${size}`);
  while (planned.length < size) planned.splice(dice.below(planned.length), 0, { passage: null, queries: [] });
  const corpus: Corpus = { files: [], queries: [] };
  for (const [at, plan] of planned.entries()) {
    const format = formats[at % formats.length] ?? 'md';
    const name = `document-${String(at + 1).padStart(3, '0')}.${format}`;
    corpus.files.push({ name, content: write(documentOf(plan, dice), format) });
    corpus.queries.push(...plan.queries.map((query) => ({ ...query, file: name })));
  }
  return corpus;
}

function planPassages(): Planned[] {
  return passages.flatMap((passage): Planned[] => [
    {
      passage: sectionOf(passage.title, plainText(passage)),
      queries: [
        { kind: 'question', query: passage.question, answer: answerOf(passage) },
        { kind: 'paraphrase', query: passage.paraphrase, answer: answerOf(passage) },
      ],
    },
    { passage: sectionOf(passage.title, passage.near), queries: [] },
  ]);
}

function planKeywords(): Planned[] {
  return keywords.flatMap(({ query, code, text, near }): Planned[] => [
    { passage: sectionOf('Notes', text), queries: [{ kind: 'keyword', query, answer: code }] },
    { passage: sectionOf('Notes', near), queries: [] },
  ]);
}

/** Passages are written over several lines in the source. */
function sectionOf(title: string, text: string): Section {
  return { title, paragraphs: [text.replace(/\s+/g, ' ')] };
}

function documentOf({ passage }: Planned, dice: Dice) {
  const sections = Array.from({ length: passage ? 1 + dice.below(2) : 2 + dice.below(2) }, () =>
    fillerSection(dice),
  );
  const title = sections[0]?.title ?? 'Notes';
  if (passage) sections.splice(dice.below(sections.length + 1), 0, passage);
  return { title, sections };
}

function fillerSection(dice: Dice): Section {
  const { title, sentences } = dice.pick(fillerTopics);
  return { title: fill(title, dice), paragraphs: [fillerParagraph(sentences, dice)] };
}

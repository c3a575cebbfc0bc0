// Markdown files of invented notes: a few sections of prose each, and no two paragraphs alike.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diceFrom } from '../../test/recall/dice.ts';
import { fill, fillerParagraph, fillerTopics } from '../../test/recall/filler.ts';

const sectionsPerFile = 6;

/** The same files for the same seed. */
export function markdownFiles(count, seed) {
  const dice = diceFrom(seed);
  return Array.from({ length: count }, (_, index) => {
    const sections = Array.from({ length: sectionsPerFile }, (_, at) => {
      const { title, sentences } = dice.pick(fillerTopics);
      const note = `This is note ${at + 1} of volume ${index + 1}.`;
      return `## ${fill(title, dice)}\n\n${fillerParagraph(sentences, dice)} ${note}\n`;
    });
    const name = `notes-${String(index + 1).padStart(5, '0')}.md`;
    return { name, content: `# Volume ${index + 1}\n\n${sections.join('\n')}` };
  });
}

export async function writeMarkdownFiles(folder, files) {
  await mkdir(folder, { recursive: true });
  for (const { name, content } of files) await writeFile(join(folder, name), content);
}

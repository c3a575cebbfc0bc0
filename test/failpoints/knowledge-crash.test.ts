import { expect, test } from 'vitest';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage, useEmbedder } from './crash-stage.ts';
import { knowledgeEnv, knowledgePath } from './knowledge-path.ts';

const atLeast = 3;
const embedder = useEmbedder();
const stage = useCrashStage(knowledgeEnv);

test('a process that dies anywhere in a run stores every chunk once and embeds it once', {
  timeout: crashTimeout,
}, async () => {
  const path = knowledgePath(stage.database, stage.servers, embedder);
  const { deaths, cutOff } = await expectCrashes(stage, {
    name: 'knowledge',
    path,
    atLeast,
    seams: [
      'before message: commit',
      'after message: commit',
      'file: sync',
      'request: /v1/embeddings',
      'insert into embeddings_index',
      'insert into knowledge_links',
    ],
  });
  console.log(`${path.askedAgain} texts were in flight at a death; ${path.orphans} files were swept`);
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(cutOff).toBeGreaterThan(0);
});

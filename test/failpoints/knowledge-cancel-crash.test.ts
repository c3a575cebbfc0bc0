import { expect, test } from 'vitest';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage, useEmbedder } from './crash-stage.ts';
import { cancelPath } from './knowledge-cancel-path.ts';
import { knowledgeEnv } from './knowledge-path.ts';

const atLeast = 3;
const embedder = useEmbedder();
// In a file of its own: a process that another test left behind would do the cleanup unseen.
const stage = useCrashStage(knowledgeEnv);

test('a process that dies anywhere in the cleanup of a canceled run leaves nothing of it and changes nothing else', {
  timeout: crashTimeout,
}, async () => {
  const { deaths, points } = await expectCrashes(stage, {
    name: 'cancel',
    path: cancelPath(stage.database, stage.servers, embedder),
    atLeast,
    seams: ['after message: commit', 'delete from knowledge_links', 'delete from embeddings_index'],
  });
  expect(deaths.length).toBeGreaterThanOrEqual(Math.min(atLeast, points.length));
});

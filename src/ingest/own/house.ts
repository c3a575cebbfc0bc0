import { defineHouse } from '../../kernel/house/house.ts';
import { findDefinitionProblems } from './definitions/define.ts';
import { ownErrors } from './errors.ts';
import { pipelinesPage, tasksPage } from './settings.ts';
import type { OwnDefinition } from './types.ts';

/** Pipelines and tasks that whoever uses Sluice has defined. */
export const ownHouse = defineHouse({
  name: 'own',
  definitions: {
    pipelines: { findProblems: findDefinitionProblems('pipeline'), page: pipelinesPage },
    tasks: { findProblems: findDefinitionProblems('task'), page: tasksPage },
  },
  errors: [{ title: 'Pipelines and tasks of your own', catalogue: ownErrors }],
  commands: { tasks: async () => (await import('./commands/tasks.ts')).addTasksCommand },
  open: async (ground) => {
    const { openOwnHouse } = await import('./open.ts');
    const listed = [...ground.definitions('pipelines'), ...ground.definitions('tasks')];
    const { house, door } = await openOwnHouse({ ...ground, listed: listed as readonly OwnDefinition[] });
    ground.doors.offer('own', door);
    return house;
  },
});

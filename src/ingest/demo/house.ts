import { defineHouse } from '../../kernel/house/house.ts';
import { demoErrors } from './errors.ts';

/** A tenant with life in all five pipelines, for those who want to see them before they have data of their own. */
export const demoHouse = defineHouse({
  name: 'demo',
  errors: [{ title: 'The demo', catalogue: demoErrors }],
  commands: { demo: async () => (await import('./commands/demo.ts')).addDemoCommand },
  open: async (ground, { jwtIssuer, jwtAudience }) => {
    const { openDemoHouse } = await import('./open.ts');
    const tokens = { secret: ground.secret, issuer: jwtIssuer, audience: jwtAudience, jwksUrl: null };
    const house = openDemoHouse({ ...ground, tokens });
    await house.keep();
    return house;
  },
});

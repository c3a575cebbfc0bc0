import { defineHouse } from '../../kernel/house/house.ts';
import { catalogErrors } from './errors.ts';

/** A tenant's products, and rows matched against them. */
export const catalogHouse = defineHouse({
  name: 'catalogues',
  errors: [{ title: 'Catalogues', catalogue: catalogErrors }],
  commands: { catalog: async () => (await import('./commands/catalog.ts')).addCatalogCommand },
  prepare: async (ownerUrl, options) => {
    const { prepareTitleSearch } = await import('./matching/prepare-title-search.ts');
    await prepareTitleSearch(ownerUrl, options);
  },
  doctorChecks: [
    {
      name: 'fuzzy titles',
      run: async (client) => (await import('./matching/doctor-check.ts')).checkTitleSearch(client),
    },
  ],
  open: async (ground, config) => {
    const { openCatalogHouse } = await import('./open.ts');
    const house = openCatalogHouse({ ...config, ...ground });
    ground.doors.offer('catalogs', house.door);
    return house;
  },
});

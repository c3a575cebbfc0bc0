import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router';
import { ApiProblem } from './api/client.ts';
import { meQuery, queryClient } from './api/queries.ts';
import { readSearch, writeSearch } from './list-state.ts';
import { adapterSearch, adaptersSearch } from './pages/adapters/search.ts';
import { catalogsSearch } from './pages/catalogs/search.ts';
import { connectorSearch, connectorsSearch } from './pages/connectors/search.ts';
import { deadLettersSearch } from './pages/dead-letters/search.ts';
import { eventsSearch } from './pages/events/search.ts';
import { figuresSearch } from './pages/figures/search.ts';
import { itemSearch, itemsSearch, newItemsSearch } from './pages/items/search.ts';
import { jobSearch, jobsSearch } from './pages/jobs/search.ts';
import { knowledgeBaseSearch, knowledgeSearch } from './pages/knowledge/search.ts';
import { loginSearch } from './pages/login/search.ts';
import { overviewSearch } from './pages/overview/search.ts';
import { pendingSearch } from './pages/pending/search.ts';
import { providersSearch } from './pages/providers/search.ts';
import { scrapeSearch, scrapesSearch } from './pages/scrapes/search.ts';
import { searchEverywhere } from './pages/search/search.ts';
import { settingsSearch } from './pages/settings/search.ts';
import { sourcesSearch } from './pages/upload-sources/search.ts';
import { platformsSearch, uploadSearch, uploadsSearch } from './pages/uploads/search.ts';
import { webhooksSearch } from './pages/webhooks/search.ts';
import { NotFound, RouteProblem } from './shell/route-problem.tsx';
import { Shell } from './shell/shell.tsx';
import { rootSearch } from './shell/workspace.ts';

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFound,
  errorComponent: RouteProblem,
});

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: loginSearch,
  component: lazyRouteComponent(() => import('./pages/login/login-page.tsx')),
});

/** Everything but the login: nothing is shown before it is known who is asking. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  validateSearch: rootSearch,
  search: { middlewares: [retainSearchParams(['workspace'])] },
  beforeLoad: async ({ location }) => {
    try {
      await queryClient.ensureQueryData(meQuery);
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.status !== 401) throw error;
      throw redirect({ to: '/login', search: location.href === '/' ? {} : { to: location.href } });
    }
  },
});

const parent = { getParentRoute: () => shell };

/** One chunk per page; its search parameters are read by the parser beside it. */
const pages = [
  createRoute({
    ...parent,
    path: '/',
    validateSearch: overviewSearch,
    component: page(() => import('./pages/overview/overview-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/jobs',
    validateSearch: jobsSearch,
    component: page(() => import('./pages/jobs/jobs-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/jobs/$jobId',
    validateSearch: jobSearch,
    component: page(() => import('./pages/jobs/job-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/items',
    validateSearch: itemsSearch,
    component: page(() => import('./pages/items/items-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/items/new',
    validateSearch: newItemsSearch,
    component: page(() => import('./pages/items/new-items-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/items/$jobId',
    validateSearch: itemSearch,
    component: page(() => import('./pages/items/items-job-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/pending',
    validateSearch: pendingSearch,
    component: page(() => import('./pages/pending/pending-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/providers',
    validateSearch: providersSearch,
    component: page(() => import('./pages/providers/providers-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/catalogs',
    validateSearch: catalogsSearch,
    component: page(() => import('./pages/catalogs/catalogs-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/uploads',
    validateSearch: uploadsSearch,
    component: page(() => import('./pages/uploads/uploads-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/uploads/new',
    validateSearch: uploadSearch,
    component: page(() => import('./pages/uploads/new-upload-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/uploads/platforms',
    validateSearch: platformsSearch,
    component: page(() => import('./pages/uploads/platforms-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/uploads/sources',
    validateSearch: sourcesSearch,
    component: page(() => import('./pages/upload-sources/sources-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/uploads/$uploadId',
    validateSearch: uploadSearch,
    component: page(() => import('./pages/uploads/upload-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/data',
    validateSearch: figuresSearch,
    component: page(() => import('./pages/figures/figures-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/knowledge',
    validateSearch: knowledgeSearch,
    component: page(() => import('./pages/knowledge/knowledge-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/search',
    validateSearch: searchEverywhere,
    component: page(() => import('./pages/search/search-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/knowledge/new',
    validateSearch: knowledgeSearch,
    component: page(() => import('./pages/knowledge/new-knowledge-base-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/knowledge/$kbId',
    validateSearch: knowledgeBaseSearch,
    component: page(() => import('./pages/knowledge/knowledge-base-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/scrapes',
    validateSearch: scrapesSearch,
    component: page(() => import('./pages/scrapes/scrapes-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/scrapes/$source',
    validateSearch: scrapeSearch,
    component: page(() => import('./pages/scrapes/scrape-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/connectors',
    validateSearch: connectorsSearch,
    component: page(() => import('./pages/connectors/connectors-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/connectors/$connectorId',
    validateSearch: connectorSearch,
    component: page(() => import('./pages/connectors/connector-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/adapters',
    validateSearch: adaptersSearch,
    component: page(() => import('./pages/adapters/adapters-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/adapters/$name',
    validateSearch: adapterSearch,
    component: page(() => import('./pages/adapters/adapter-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/dead-letters',
    validateSearch: deadLettersSearch,
    component: page(() => import('./pages/dead-letters/dead-letters-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/events',
    validateSearch: eventsSearch,
    component: page(() => import('./pages/events/events-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/webhooks',
    validateSearch: webhooksSearch,
    component: page(() => import('./pages/webhooks/webhooks-page.tsx')),
  }),
  createRoute({
    ...parent,
    path: '/settings',
    validateSearch: settingsSearch,
    component: page(() => import('./pages/settings/settings-page.tsx')),
  }),
];

export const router = createRouter({
  routeTree: root.addChildren([login, shell.addChildren(pages)]),
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  defaultErrorComponent: RouteProblem,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

function page(load: () => Promise<{ default: () => React.ReactNode }>) {
  return lazyRouteComponent(load);
}

import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient, whenLoggedOut } from './api/queries.ts';
import { ConfirmHost } from './parts/confirm.tsx';
import { router } from './routes.tsx';
import { cssVariables, styleNonce, theme } from './theme.ts';

// Libraries below Mantine (the scroll lock of dialogs) look for the nonce of their styles under this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

whenLoggedOut(() => {
  const { pathname, href } = router.state.location;
  if (pathname === '/login') return;
  void router.navigate({ to: '/login', search: href === '/' ? {} : { to: href } });
});

const root = document.getElementById('root');
if (root === null)
  throw new Error('The page has no element with the id root; index.html of this console has one.');

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={cssVariables}
      getStyleNonce={styleNonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" limit={4} />
        <RouterProvider router={router} />
        <ConfirmHost />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);

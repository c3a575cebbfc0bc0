import { Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { live } from '../api/queries.ts';
import { Keyboard } from '../parts/keyboard.tsx';
import { Rail } from './rail.tsx';
import { TopBar } from './top-bar.tsx';

/** Rail, top bar and the page between them; the stream of events is open while it is shown. */
export function Shell() {
  const [isMenuOpen, menu] = useDisclosure(false);
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, []);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <aside className="shell-rail">
        <Brand />
        <Rail />
      </aside>
      <TopBar onMenu={menu.open} />
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
      <Drawer opened={isMenuOpen} onClose={menu.close} size={240} title="Sluice">
        <Rail onGo={menu.close} />
      </Drawer>
      <Keyboard />
    </div>
  );
}

function Brand() {
  return (
    <div className="brand">
      <svg width={22} height={22} viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" fill="#0f766e" />
        <path d="M7 8v16M25 8v16" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
        <path
          d="M10 13c2 0 2 2 4 2s2-2 4-2 2 2 4 2M10 20c2 0 2 2 4 2s2-2 4-2 2 2 4 2"
          fill="none"
          stroke="#99f6e4"
          strokeWidth="2.4"
          strokeLinecap="round"
        />
      </svg>
      Sluice
    </div>
  );
}

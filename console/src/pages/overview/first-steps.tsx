import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { useCan, useMe } from '../../api/queries.ts';
import { useAction } from '../../parts/action.ts';
import { Command } from '../../parts/command.tsx';
import { Panel } from '../../parts/page.tsx';

const steps = [
  { right: 'upload.create', to: '/uploads/new', label: 'Upload an ad report' },
  { right: 'item.create', to: '/items/new', label: 'Enrich a file of rows' },
  { right: 'knowledge.manage', to: '/knowledge/new', label: 'Create a knowledge base' },
  { right: 'connector.manage', to: '/connectors', label: 'Connect Airbyte' },
] as const;

/** Shown while the last day had no job at all. */
export function FirstSteps() {
  const rights = useMe()?.rights ?? [];
  return (
    <Panel title="Nothing came in during the last 24 hours">
      <div className="stack">
        <div className="row">
          {steps
            .filter(({ right }) => rights.includes(right))
            .map(({ to, label }) => (
              <Button key={to} variant="default" component={Link} to={to}>
                {label}
              </Button>
            ))}
        </div>
        <Command line="sluice upload report.csv --platform meta" />
        <DemoOffer />
      </div>
    </Panel>
  );
}

/** For whoever has no data at hand yet. Opening it logs in as the admin of the demo's tenant. */
function DemoOffer() {
  const mayStart = useCan('tenant.manage');
  const demo = useAction({
    run: () => api.post('/api/demo'),
    done: () => null,
    touches: [],
    afterwards: ({ login }) => window.location.assign(login),
  });
  if (!mayStart) return null;
  return (
    <div className="row">
      <Button loading={demo.isRunning} onClick={() => demo.run()}>
        Open the demo
      </Button>
      <span className="dim">
        A tenant of its own, Northwind Traders, with life in all five pipelines. You continue there as its
        admin; “sluice demo --remove” removes it.
      </span>
    </div>
  );
}

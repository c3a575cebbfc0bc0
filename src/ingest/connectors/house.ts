import { defineHouse } from '../../kernel/house/house.ts';
import { connectorErrors, syncFailures } from './errors.ts';
import { connectorSettings } from './settings.ts';

/** Tenants' Airbyte connections: synced on schedule, triggered once, followed to their end. */
export const connectorHouse = defineHouse({
  name: 'connectors',
  settings: connectorSettings,
  errors: [
    { title: 'Connectors', catalogue: connectorErrors },
    { title: 'Failed syncs', catalogue: syncFailures },
  ],
  commands: { sync: async () => (await import('./commands/sync.ts')).addSyncCommand },
  doctorChecks: [
    {
      name: 'airbyte',
      run: async (_client, config) => (await import('./doctor-check.ts')).checkConnection(config),
    },
  ],
  open: async (ground, config) => {
    const { hookSecretFrom, openConnectorHouse, syncPolicyOf } = await import('./open.ts');
    const hookSecret = hookSecretFrom(config.airbyteWebhookSecret, ground.secret);
    ground.scrubber.register([hookSecret]);
    const checksAtStart = true;
    return openConnectorHouse({ ...config, ...ground, ...syncPolicyOf(config), hookSecret, checksAtStart });
  },
});

import { conflict, defineErrors, notFound, transient } from '../../lib/errors.ts';

export const demoErrors = defineErrors({
  demo_name_taken: conflict(
    'The demo’s tenant belongs to somebody',
    'Start the demo on another installation, or remove the tenant northwind if nobody needs it.',
  ),
  demo_not_found: notFound('There is no demo here', 'Start one with `sluice demo`.'),
  demo_step_failed: transient(
    'The demo could not be filled',
    'Start it again: it goes on with what is missing. If it fails again, remove it with `sluice demo --remove`.',
  ),
});

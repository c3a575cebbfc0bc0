import { defineErrors } from '../../lib/errors.ts';

/** Errors of requests about connectors. */
export const connectorErrors = defineErrors({
  connector_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such connector',
    next: 'Check the id; GET /api/connectors lists the tenant’s connectors.',
  },
  connector_exists: {
    kind: 'conflict',
    status: 409,
    title: 'The tenant already has a connector with this id',
    next: 'Choose another connector_id, or change the existing connector.',
  },
  connection_taken: {
    kind: 'conflict',
    status: 409,
    title: 'The Airbyte connection is already enrolled',
    next: 'Use a separate connection for each connector, or ask the operator who has enrolled this one.',
  },
  connector_busy: {
    kind: 'conflict',
    status: 409,
    title: 'The connector has an active sync',
    next: 'Wait for the job in active_job_id or cancel it, then try again.',
  },
  connector_disabled: {
    kind: 'conflict',
    status: 409,
    title: 'The connector is disabled',
    next: 'Enable it with PATCH /api/connectors/{connector_id} {"enabled": true}.',
  },
  cadence_not_allowed: {
    kind: 'invalid',
    status: 422,
    title: 'The plan does not allow this cadence',
    next: 'Use at least the plan’s minimum, leave cadence_hours out, or ask the operator for another plan.',
  },
  enrolment_by_operator: {
    kind: 'forbidden',
    status: 403,
    title: 'Only the operator enrols connections here',
    next: 'Ask the operator to assign the connection with POST /api/connectors/import.',
  },
  connector_tenant_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'The tenant does not exist',
    next: 'Create the tenant first, or use a tenant_id of GET /api/tenants.',
  },
  airbyte_not_configured: {
    kind: 'transient',
    status: 503,
    title: 'Airbyte is not configured',
    next: 'Set the variables that the message names and restart; GET /api/connectors/status shows what is missing.',
  },
  airbyte_refused: {
    kind: 'transient',
    status: 503,
    title: 'Airbyte could not be asked',
    next: 'Read the message, fix what it names or try again later.',
  },
  airbyte_hook_unknown: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such webhook address',
    next: 'Copy the address from GET /api/connectors/status (operator) into Airbyte’s notification settings.',
  },
});

/** Why a sync failed or waits for a retry: codes in `error_code`. */
export const syncFailures = defineErrors({
  auth_error: {
    kind: 'forbidden',
    status: 403,
    title: 'Airbyte refuses access to this connection',
    next: 'Give the application access to the connection in Airbyte, then requeue the job.',
  },
  rate_limit: {
    kind: 'rate_limited',
    status: 429,
    title: 'Airbyte asked to slow down too often',
    next: 'Sync less often or raise the limit at Airbyte, then requeue the job.',
  },
  server_error: {
    kind: 'transient',
    status: 503,
    title: 'Airbyte failed repeatedly',
    next: 'Check Airbyte’s status page; requeue the job when Airbyte works again.',
  },
  timeout: {
    kind: 'transient',
    status: 503,
    title: 'Airbyte did not respond in time',
    next: 'Check Airbyte’s status page; requeue the job when Airbyte works again.',
  },
  connection_error: {
    kind: 'transient',
    status: 503,
    title: 'Airbyte could not be reached',
    next: 'Check AIRBYTE_BASE_URL and the network; requeue the job when Airbyte can be reached.',
  },
  bad_answer: {
    kind: 'transient',
    status: 503,
    title: 'Airbyte’s responses could not be read',
    next: 'Check that AIRBYTE_BASE_URL is the address of the API and that no proxy responds instead.',
  },
  already_running: {
    kind: 'conflict',
    status: 409,
    title: 'Another sync is running on the connection',
    next: 'Wait until it has ended, or set on_active_sync to adopt; then requeue the job.',
  },
  state_conflict: {
    kind: 'conflict',
    status: 409,
    title: 'Airbyte cannot sync the connection in its current state',
    next: 'Check the connection in Airbyte, then requeue the job.',
  },
  connection_inactive: {
    kind: 'conflict',
    status: 409,
    title: 'The connection is inactive or deleted in Airbyte',
    next: 'Activate the connection in Airbyte (it is disabled after many failures), then requeue the job.',
  },
  insufficient_credits: {
    kind: 'conflict',
    status: 422,
    title: 'The Airbyte account has no credits left',
    next: 'Buy credits, then requeue the dead letters with this code.',
  },
  not_found: {
    kind: 'not_found',
    status: 404,
    title: 'Airbyte does not know the connection or the run',
    next: 'Check airbyte_connection_id; delete the connector if the connection is gone.',
  },
  bad_request: {
    kind: 'invalid',
    status: 422,
    title: 'Airbyte refused the request',
    next: 'Read the message; check airbyte_connection_id.',
  },
  sync_failed: {
    kind: 'transient',
    status: 503,
    title: 'Airbyte reported the sync as failed after several attempts of its own',
    next: 'Read the reason here or in Airbyte, fix the source or destination, then requeue the job.',
  },
  sync_deadline_exceeded: {
    kind: 'transient',
    status: 503,
    title: 'The sync took longer than SYNC_DEADLINE_HOURS',
    next: 'Check the run in Airbyte: it may still be running. A requeued job adopts it.',
  },
  connector_gone: {
    kind: 'not_found',
    status: 404,
    title: 'The connector was deleted while its sync waited',
    next: 'Nothing to do, unless it was a mistake: then create the connector again.',
  },
  canceled_in_airbyte: {
    kind: 'conflict',
    status: 409,
    title: 'The sync was canceled in Airbyte',
    next: 'Start it again with sync now if it was a mistake.',
  },
  skipped_active: {
    kind: 'conflict',
    status: 409,
    title: 'Skipped, because another sync was running on the connection',
    next: 'Nothing to do; set on_active_sync to adopt to follow such syncs.',
  },
});

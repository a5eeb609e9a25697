import type { ErrorTable } from './error-table.ts';

/** What goes wrong between a service and the bus. */
export const busErrors = {
  BUS_UNREACHABLE: {
    retry: true,
    hint: 'Check that the hub is running and that its NATS port can be reached from here.',
  },
  BUS_REFUSED: {
    retry: false,
    hint: 'Take the newest credentials: inspector.creds or ops.creds of the directory of the hub, Secret rollcall-inspector or rollcall-ops, or `rollcall context export` once more. They end when service keys are rotated. A clock that is far off makes good ones bad, too.',
  },
  BUS_UNSAFE: {
    retry: false,
    hint: 'Set `sync_interval: always` and run nats-server 2.15.2 or newer, or start with --allow-unsafe-bus.',
  },
  HISTORY_LOST: {
    retry: true,
    hint: 'Stream EVENTS is gone, cut, or not the one that it was, so nothing is decided and nobody is let in. Put the newest copy of its files (of a hub in a cluster: a snapshot of its volume) back while the hub is stopped. Without one: of a hub in a cluster, which runs on, `rollcall restore BACKUP --keys DIR --keep-kubernetes`, or `rollcall restore --accept-loss HUB-ID --keys DIR`; of `rollcall up`, once it is stopped, `rollcall restore BACKUP --keep-kubernetes`, or `rollcall restore --accept-loss HUB-ID`, without what is lost. docs/security/restore.md says each step.',
  },
  APPEND_CONFLICT: {
    retry: true,
    hint: 'Somebody else was faster; the decision is taken again on the new state.',
  },
  EVENT_INVALID: { retry: false, hint: 'The message does not fit its schema; see `rollcall dead list`.' },
  EVENT_VERSION_UNKNOWN: {
    retry: true,
    hint: 'A newer Rollcall wrote this event; upgrade this service, the event is held until then.',
  },
} as const satisfies ErrorTable;

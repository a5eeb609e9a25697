import type { ErrorTable } from './error-table.ts';

/** What services say of themselves. */
export const serviceErrors = {
  ADMISSION_MISSING: {
    retry: true,
    hint: 'Delete what is named, if it is there, and apply deploy/admission again; until then decisions of people are held.',
  },
  CLAIMS_DIFFER: {
    retry: true,
    hint: 'The claims of account AGENTS are not what this version writes; run the same version everywhere, or push them again with the offline keys.',
  },
  CLAIMS_NOT_APPLIED: {
    retry: true,
    hint: 'See that every NATS server runs and answers; it is tried again by itself. Where one took the claims and does not act on them, check that the operator lists the signing key of the account-controller.',
  },
  ROTATION_NOT_DUE: {
    retry: false,
    hint: 'Wait, so that nobody is cut off; `rollcall trust status` says since when it rolls over. In an emergency, --now.',
  },
  KEY_NOT_CUT: {
    retry: true,
    hint: 'It is ended again by itself: the key is on the list, and nobody comes in anew with it. Where it stays, restart the NATS server that has the connection.',
  },
  DEADLINE_EXCEEDED: { retry: true, hint: 'Look at `rollcall doctor` for what is slow.' },
  NOT_FOUND: {
    retry: false,
    hint: 'Check the name; `rollcall get clusters` and the like list what there is. A hub that shows only exceptions needs `rollcall show NAME` first. An agent that did not reach the hub has left nothing here: its own output says why.',
  },
  UNEXPECTED: {
    retry: true,
    hint: 'This is a bug in Rollcall; please report it with the log lines around it.',
  },
} as const satisfies ErrorTable;

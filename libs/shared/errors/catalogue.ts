import { agentErrors } from './agent-errors.ts';
import { busErrors } from './bus-errors.ts';
import type { ErrorTable } from './error-table.ts';
import { operatorErrors } from './operator-errors.ts';
import { serviceErrors } from './service-errors.ts';

/** Every failure that Rollcall expects, by stable code. */
export const errorCatalogue = {
  ...operatorErrors,
  ...busErrors,
  ...agentErrors,
  ...serviceErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errorCatalogue;

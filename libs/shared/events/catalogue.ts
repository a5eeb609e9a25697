import * as archive from './types/archive-events.ts';
import * as approver from './types/approver-events.ts';
import { eventTypeName, type EventDefinition } from './define-event.ts';
import * as heartbeat from './types/heartbeat-events.ts';
import * as host from './types/host-events.ts';
import * as provisioner from './types/provisioner-events.ts';
import * as registrar from './types/registrar-events.ts';
import * as restore from './types/restore-events.ts';
import * as trust from './types/trust-events.ts';

function isDefinition(value: unknown): value is EventDefinition {
  return typeof value === 'object' && value !== null && 'writer' in value && 'body' in value;
}

/** Every event there is. Rights, documentation and decoding come from this list. */
export const eventCatalogue: readonly EventDefinition[] = [
  registrar,
  approver,
  provisioner,
  heartbeat,
  trust,
  host,
  restore,
  archive,
].flatMap((module) => Object.values(module).filter(isDefinition));

const byTypeName = new Map(eventCatalogue.map((definition) => [eventTypeName(definition), definition]));

/** The definition of a CloudEvents type, or undefined when this version does not know it. */
export function findDefinition(typeName: string): EventDefinition | undefined {
  return byTypeName.get(typeName);
}

import * as archive from './archive-events.ts';
import * as approver from './approver-events.ts';
import { eventTypeName, type EventDefinition } from './define-event.ts';
import * as heartbeat from './heartbeat-events.ts';
import * as host from './host-events.ts';
import * as provisioner from './provisioner-events.ts';
import * as registrar from './registrar-events.ts';
import * as restore from './restore-events.ts';
import * as trust from './trust-events.ts';

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

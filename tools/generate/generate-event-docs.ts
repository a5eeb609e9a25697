import { eventCatalogue, type EventDefinition, eventTypeName, eventWriters } from '@rollcall/shared/events';
import { z } from 'zod';
import type { Generated } from './generated-file.ts';

/** The JSON Schema of one event's body, as docs/events shows it. */
function schemaOf(definition: EventDefinition): string {
  const schema = z.toJSONSchema(definition.body, { io: 'output', unrepresentable: 'any' });
  const named = { ...schema, $id: `${eventTypeName(definition)}.json`, description: definition.description };
  return `${JSON.stringify(named, undefined, 2)}\n`;
}

function overview(): string {
  const rows = eventWriters.flatMap((writer) =>
    eventCatalogue
      .filter((definition) => definition.writer === writer)
      .map((definition) => {
        const type = eventTypeName(definition);
        const subject = `rollcall.events.${definition.kind}.<id>.${definition.type}`;
        return `| [\`${type}\`](${type}.json) | \`${subject}\` | ${writer} | ${definition.description} |`;
      }),
  );
  return `# Events

Everything that happens is one of these, on stream \`EVENTS\`. Each carries CloudEvents headers and, in its body, its writer's whole
section of the record after it. This folder is made from \`libs/shared/events/\` by \`npm run generate\`; a test fails when it is stale.

| type | subject | written by | what happened, and what follows |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

/** One JSON Schema an event, and their overview, in docs/events. */
export function eventDocs(): Generated {
  const schemas = eventCatalogue.map(
    (definition) => [`${eventTypeName(definition)}.json`, schemaOf(definition)] as const,
  );
  return { folder: 'docs/events', extension: '', files: new Map([['README.md', overview()], ...schemas]) };
}

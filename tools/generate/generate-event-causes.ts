import { encodeEvent, eventCatalogue, type EventDefinition } from '@rollcall/shared/events';
import { type EventCause, eventCauses } from './event-causes.ts';
import { largestSection } from './largest-sections.ts';
import type { Generated } from './generated-file.ts';

/** Bytes of body and headers at their worst. */
export function largestEvent(definition: EventDefinition): number {
  const section = largestSection(definition);
  const { body, headers } = encodeEvent(
    {
      definition,
      aggregate: { kind: definition.kind, id: 'x'.repeat(63) },
      head: { epoch: 1e9, sequence: 1e15, digest: `sha256:${'0'.repeat(64)}` },
      by: { policy: 'x'.repeat(253), generation: 1e9, rule: 'x'.repeat(63), person: 'x'.repeat(512) },
      reason: `R${'x'.repeat(63)}`,
      message: 'x'.repeat(1024),
      section: JSON.parse(JSON.stringify(section)) as never,
    },
    {
      epoch: 1e9,
      source: '/rollcall/rbac-provisioner',
      nowMs: 1_700_000_000_000,
      correlation: 'x'.repeat(64),
      traceparent: 'x'.repeat(55),
    },
  );
  // As the server counts them: a line for each header.
  const ofHeaders = Object.entries(headers).map(([name, value]) => name.length + value.length + 4);
  return body.length + ofHeaders.reduce((sum, bytes) => sum + bytes, 0);
}

const nameOf = ({ kind, type }: EventDefinition) => `${kind}.${type}`;

function rowOf(definition: EventDefinition, { by, often, stopsWhenFull }: EventCause): string {
  const full = stopsWhenFull ? 'ends' : 'goes on';
  return `| \`${nameOf(definition)}\` | ${by.join(', ')} | ${often} | ${full} | ${Math.ceil(largestEvent(definition) / 1024)} KiB |`;
}

/** Who can have what stored: docs/security/events.md. */
export function eventCausesDoc(): Generated {
  const rows = eventCatalogue.flatMap((definition) => {
    const cause = eventCauses[nameOf(definition)];
    return cause ? [rowOf(definition, cause)] : [];
  });
  const text = `# Who can cause which event

This page is made from \`tools/generate/event-causes.ts\` and \`tools/generate/largest-sections.ts\` by \`npm run generate\`; a test fails when it is stale, when a type
of event is missing, and when one at its worst would not fit into a message (256 KiB).

Stream \`EVENTS\` is trimmed by nobody but who runs the hub (\`rollcall history archive\`), so whatever somebody can have stored has a budget: by key, by token, and in all.
"token" is whoever holds a registration token, "member" an agent that is in or waits, "person" an account of the hub's API server with the right to it, "operator" who runs the hub,
and "hub" a service by its own rules, after one of the others. "At 85 %" says what becomes of it when the place for events is that full ([operations](../operations.md#disk)).
The size is that of an event whose sender uses every bound; one of ours is about 1 KiB. What a hub stores in a year: [scale](../scale.md#what-a-cluster-takes).

| event | caused by | how often at most | at 85 % | largest |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
  return { folder: 'docs/security', extension: 'events.md', files: new Map([['events.md', text]]) };
}

import { createHmac } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { eventTypeName, type StoredEvent } from '@rollcall/shared/events';
import { cloudEvent } from '../events/cloud-event.ts';
import { causeText } from '../events/event-line.ts';

/** What is sent to a sink for one event. */
export interface SinkMessage {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a template may name, as `{{name}}`. */
function valuesOf(event: StoredEvent, clusterName: string | undefined): Readonly<Record<string, string>> {
  const { kind, type, id, timeMs, reason, message, sequence, by } = event;
  return {
    cluster: clusterName ?? id,
    id,
    kind,
    type,
    time: new Date(timeMs).toISOString(),
    reason,
    message,
    sequence: String(sequence),
    by: by === undefined ? '' : causeText(by),
  };
}

const templateNames = ['cluster', 'id', 'kind', 'type', 'time', 'reason', 'message', 'sequence', 'by'];
const placeholder = /\{\{\s*([\w-]+)\s*\}\}/g;

/**
 * Reads a template: JSON whose texts name values as `{{name}}`.
 * @throws RollcallError CONFIG_INVALID where it is no JSON, or names what there is not
 */
export function parseTemplate(text: string): string {
  for (const [, name = ''] of text.matchAll(placeholder))
    if (!templateNames.includes(name))
      throw new RollcallError(
        'CONFIG_INVALID',
        `the template names "${name}"; there are ${templateNames.join(', ')}`,
      );
  try {
    JSON.parse(text.replaceAll(placeholder, 'x'));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RollcallError('CONFIG_INVALID', `the template is no JSON: ${why}`, { cause });
  }
  return text;
}

/** What others wrote stays within the text that it stands in. */
const withinText = (value: string): string => JSON.stringify(value).slice(1, -1);

/**
 * The message for one event: a CloudEvent in structured mode, or what a template makes of it.
 * @param how.secret - signed by it as Standard Webhooks has it, at that time
 */
export function messageOf(
  event: StoredEvent,
  how: {
    readonly clusterName: string | undefined;
    readonly template: string | undefined;
    readonly secret: Uint8Array | undefined;
    readonly nowMs: number;
  },
): SinkMessage {
  const values = valuesOf(event, how.clusterName);
  const body =
    how.template === undefined
      ? JSON.stringify({ ...cloudEvent(event), clustername: how.clusterName })
      : how.template.replaceAll(placeholder, (_, name: string) => withinText(values[name] ?? ''));
  const type = how.template === undefined ? 'application/cloudevents+json' : 'application/json';
  const id = event.eventId;
  const seconds = String(Math.floor(how.nowMs / 1000));
  return {
    body,
    headers: {
      'content-type': `${type}; charset=utf-8`,
      'webhook-id': id,
      'webhook-timestamp': seconds,
      'rollcall-event-type': eventTypeName(event.definition),
      ...(how.secret === undefined
        ? {}
        : { 'webhook-signature': signatureOf(`${id}.${seconds}.${body}`, how.secret) }),
    },
  };
}

const signatureOf = (text: string, secret: Uint8Array): string =>
  `v1,${createHmac('sha256', secret).update(text).digest('base64')}`;

/**
 * Reads a secret of Standard Webhooks: `whsec_` and base64, or the bytes of the text as they are.
 * @throws RollcallError CONFIG_INVALID for less than 16 bytes
 */
export function parseSecret(text: string): Uint8Array {
  const [, encoded] = /^whsec_([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? [];
  const secret = encoded === undefined ? Buffer.from(text.trim()) : Buffer.from(encoded, 'base64');
  if (secret.length >= 16) return secret;
  throw new RollcallError('CONFIG_INVALID', 'the secret has less than 16 bytes: anybody could guess it');
}

import { headers, type MsgHdrs } from '@nats-io/transport-node';

/**
 * Headers of a message that is sent on. A name or value that the library does not write (a space in the name, a line break in the
 * value) is left out: the server stores whatever a writer sends, and one such message must end neither a page of the history nor a
 * restore. No digest covers anything but `ce-id`.
 */
export function sentOnHeaders(all: Readonly<Record<string, string>>): MsgHdrs {
  const written = headers();
  for (const [name, value] of Object.entries(all)) {
    try {
      written.set(name, value);
    } catch {
      // Not one of ours, and nobody asks for it.
    }
  }
  return written;
}

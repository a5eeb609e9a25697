import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Reads one JSON value a line, as watches send them. Ends with the stream; throws on a stream error or broken JSON. */
export async function* readJsonLines(stream: Readable): AsyncGenerator<unknown, void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.write(chunk as Buffer)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') yield JSON.parse(line);
    }
  }
  // A rest without a line end is a message that was cut off: the next watch brings it whole.
}

import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { RollcallError } from '../errors/index.ts';

/** The parser's own message quotes the line, which may be a Secret. */
function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new RollcallError(
      'KUBE_UNREACHABLE',
      `a line of ${line.length} characters in the answer is no JSON`,
    );
  }
}

/**
 * Reads one JSON value a line, as watches send them. Ends with the stream.
 * @throws RollcallError KUBE_UNREACHABLE for broken JSON; what the stream throws
 */
export async function* readJsonLines(stream: Readable): AsyncGenerator<unknown, void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.write(chunk as Buffer)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') yield parseLine(line);
    }
  }
  // A rest without a line end is a message that was cut off: the next watch brings it whole.
}

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { RollcallError } from '@rollcall/shared/errors';

const leastLength = 12;

function readHidden(question: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  process.stderr.write(question);
  // A terminal that is asked through a muted output echoes nothing.
  const input = createInterface({ input: process.stdin, terminal: true });
  input.once('line', (line) => {
    resolve(line);
    input.close();
  });
  // Ctrl-C and Ctrl-D close it as well, with no line before.
  input.once('close', () => {
    process.stderr.write('\n');
    reject(new RollcallError('USAGE', 'no passphrase was given'));
  });
  return promise;
}

/** @throws RollcallError USAGE */
export function readNamedFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('USAGE', `cannot read the file "${path}"`, { cause });
  }
}

/**
 * The passphrase of a backup: from a file, or asked for in a terminal; never from the command line, which others see.
 * @param options.isNew - it seals: asked for twice, and not a short one
 * @throws RollcallError USAGE
 */
export async function promptPassphrase(options: {
  file?: string | undefined;
  isNew: boolean;
}): Promise<string> {
  const { file, isNew } = options;
  if (file === undefined && !process.stdin.isTTY) {
    throw new RollcallError(
      'USAGE',
      'there is no terminal to ask for the passphrase; give --passphrase-file',
    );
  }
  const passphrase =
    file === undefined ? await readHidden('passphrase: ') : readNamedFile(file).replace(/\r?\n$/, '');
  if (isNew && passphrase.length < leastLength)
    throw new RollcallError('USAGE', `the passphrase is shorter than ${leastLength} characters`);
  if (isNew && file === undefined && (await readHidden('once more: ')) !== passphrase)
    throw new RollcallError('USAGE', 'the two are not the same');
  return passphrase;
}

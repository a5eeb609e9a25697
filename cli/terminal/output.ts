import { printableLines, printableOutput } from './printable.ts';

/**
 * Where commands write: results to stdout, everything said about the way there to stderr.
 */
export function printResult(text: string): void {
  process.stdout.write(`${printableOutput(text)}\n`);
}

/** Much of what is said quotes others: API servers, hubs, files, names. None of it moves the cursor. */
export function say(text: string): void {
  process.stderr.write(`${printableLines(text)}\n`);
}

/** Whoever reads us may stop reading (`| head`): that ends us, and is no failure. */
export function endQuietlyWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
}

import { styleText } from 'node:util';
import { hasColour } from '../../terminal/terminal.ts';
import { printableLines } from '../../terminal/printable.ts';

/** What people see on stderr while a run goes on: lines that stay, and at a terminal one below them that changes. */
export interface RunView {
  say(phase: string, message: string): void;
  /** In a file or a pipe it is a line of its own, from time to time. */
  status(text: string): void;
  end(): void;
}

/** Where nobody watches, so often is enough. */
const quietEveryMs = 5000;

export function createRunView(stream: NodeJS.WriteStream = process.stderr): RunView {
  const isTerminal = stream.isTTY === true;
  const isColoured = hasColour(stream);
  let shown = '';
  let saidAtMs = -Infinity;
  const clear = () => {
    if (shown !== '') stream.write('\r\u001b[K');
  };
  return {
    say(phase, message) {
      clear();
      const label = isColoured ? styleText('cyan', `[${phase}]`, { validateStream: false }) : `[${phase}]`;
      stream.write(`${label} ${printableLines(message)}\n`);
      if (shown !== '') stream.write(shown);
    },
    status(text) {
      if (isTerminal) {
        clear();
        shown = text.slice(0, Math.max(20, (stream.columns || 80) - 1));
        stream.write(shown);
      } else if (performance.now() - saidAtMs > quietEveryMs) {
        saidAtMs = performance.now();
        stream.write(`${text}\n`);
      }
    },
    end() {
      clear();
      shown = '';
    },
  };
}

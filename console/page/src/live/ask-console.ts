import type { Action, ActionAnswer, Refusal } from '../../../rows/index.ts';
import { parseShown } from './parse-shown.ts';

export type Asked<Value> =
  | { readonly isDone: true; readonly value: Value }
  | { readonly isDone: false; readonly refusal: Refusal };

const away: Refusal = {
  code: 'CONSOLE_AWAY',
  message: 'the console does not answer',
  hint: 'Where it was started it may have been stopped: `rollcall console` starts it again.',
};

/** Asks the server of this page; a refusal is an answer. */
export async function askConsole<Value>(path: string, init?: RequestInit): Promise<Asked<Value>> {
  try {
    const response = await fetch(path, init);
    const body = parseShown<unknown>(await response.text());
    return response.ok ? { isDone: true, value: body as Value } : { isDone: false, refusal: body as Refusal };
  } catch {
    return { isDone: false, refusal: away };
  }
}

/**
 * Takes an answer that comes line by line.
 * @param take - is given no more once the signal is aborted
 * @returns why nothing came, or not all of it
 */
export async function askLines<Line>(
  path: string,
  signal: AbortSignal,
  take: (line: Line) => void,
): Promise<Refusal | undefined> {
  try {
    const response = await fetch(path, { signal });
    if (!response.ok || !response.body) return parseShown<Refusal>(await response.text());
    let rest = '';
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (!signal.aborted) take(parseShown<Line>(line));
    }
    return undefined;
  } catch {
    return away;
  }
}

export const sendJson = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

export const sendAction = (action: Action): Promise<Asked<ActionAnswer>> =>
  askConsole('/api/actions', sendJson(action));

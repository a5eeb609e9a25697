/** The parts of a setting that is a list, without the empty ones. */
export const commaSeparated = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

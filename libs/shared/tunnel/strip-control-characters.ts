/** What the other side says, as it may go to a terminal and into a log: without what steers one or turns its text around. */
export const inOneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');

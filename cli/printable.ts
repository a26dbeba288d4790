// Text from items on a terminal: a file's name or content must not move the cursor, change colours or set the title.

/** The text with its line breaks and tabs; every other control character shows as U+FFFD. */
export const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]/gu, '\uFFFD');

/** The same for a name, which is to stay on one line. */
export const printableName = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\uFFFD');

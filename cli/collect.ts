/** Lets an option be given several times, one value each, so that it never swallows the arguments behind it. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

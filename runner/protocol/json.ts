// JSON inside messages of the link.
import type { Json } from './messages.ts';

export const json = (value: Json): string => JSON.stringify(value);
export const parsedJson = (text: string): Json => JSON.parse(text) as Json;

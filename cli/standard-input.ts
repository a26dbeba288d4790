// Standard input as text.
import { text } from 'node:stream/consumers';

export const standardInput = (): Promise<string> => text(process.stdin);

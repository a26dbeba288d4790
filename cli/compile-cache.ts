// Keeps compiled code between calls (in the folder for temporary files), which halves the start. Imported before everything else.
// Where the folder cannot be written, Node goes on without.
import { enableCompileCache } from 'node:module';

enableCompileCache();

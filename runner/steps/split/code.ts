// Boundaries of source code, from its syntax tree. Only nodes that do not fit into one chunk are entered, so the walk
// costs as much as the text has large nodes, not as it has tokens.
import type { Tree, TreeCursor } from 'web-tree-sitter';
import { Boundaries } from './boundaries.ts';

/** A place within a line is cut only where no line start offers itself. */
const WITHIN_LINE = 1000;

/** Nodes that belong to what follows them: nothing is cut between a comment and its function. */
export interface Leads {
  isLead(nodeTypeId: number): boolean;
}

/** Boundaries between the named nodes of a tree; the rank is the depth. */
export function codeBoundaries(text: string, tree: Tree, chunkSize: number, leads: Leads): Boundaries {
  const boundaries = new Boundaries();
  const cursor = tree.walk();
  try {
    walk(text, cursor, chunkSize, leads, boundaries);
  } finally {
    cursor.delete();
  }
  return boundaries;
}

function walk(text: string, cursor: TreeCursor, chunkSize: number, leads: Leads, boundaries: Boundaries): void {
  let depth = 0;
  for (;;) {
    if (cursor.endIndex - cursor.startIndex > chunkSize && cursor.gotoFirstChild()) {
      depth++;
      if (cursor.nodeIsNamed) addBoundary(text, cursor.startIndex, depth, boundaries);
      continue;
    }
    for (;;) {
      const lead = leads.isLead(cursor.nodeTypeId) ? cursor.endIndex : -1;
      if (cursor.gotoNextSibling()) {
        const start = cursor.startIndex;
        if (cursor.nodeIsNamed && !(lead >= 0 && isAdjacent(text, lead, start))) {
          addBoundary(text, start, depth, boundaries);
        }
        break;
      }
      if (!cursor.gotoParent()) return;
      depth--;
    }
  }
}

/** A node that begins its line is cut before its indentation. */
function addBoundary(text: string, start: number, depth: number, boundaries: Boundaries): void {
  let at = start;
  while (at > 0 && (text.charCodeAt(at - 1) === 32 || text.charCodeAt(at - 1) === 9)) at--;
  const beginsLine = at === 0 || text.charCodeAt(at - 1) === 10;
  boundaries.add(beginsLine ? at : start, beginsLine ? depth : depth + WITHIN_LINE);
}

/** Whether no blank line lies between two nodes. */
function isAdjacent(text: string, end: number, start: number): boolean {
  // Some grammars count the line break as part of a comment.
  let breaks = text.charCodeAt(end - 1) === 10 ? 1 : 0;
  for (let at = end; at < start; at++) if (text.charCodeAt(at) === 10) breaks++;
  return breaks < 2;
}

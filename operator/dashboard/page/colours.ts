// One colour for each source, the same everywhere on the page and for as long as the sources are the same.
import type { PipelineView } from '../../api/index.ts';

const COLOURS = 8;
/** Of updates of the Pipeline itself. */
export const OWN = 'var(--own)';

export function colourOf({ sources }: PipelineView, name: string): string {
  const at = sources.findIndex((source) => source.name === name);
  return at < 0 ? OWN : `var(--c${at % COLOURS})`;
}

/** A square of a colour, before a name. */
export function swatch(colour: string): HTMLElement {
  const made = document.createElement('span');
  made.className = 'swatch';
  made.style.background = colour;
  return made;
}

// A file that the module imports: an edit here counts as an edit of the module.

/** Parts of a text, each from a line that begins with `heading` to the next one. */
export function sectionsOf(text: string, heading: string): { readonly title: string; readonly text: string }[] {
  const parts = text.split(new RegExp(`^(?=${RegExp.escape(heading)})`, 'm'));
  return parts
    .filter((part) => part.trim() !== '')
    .map((part) => ({ title: part.slice(0, part.indexOf('\n')).replace(/^#+\s*/, ''), text: part.trim() }));
}

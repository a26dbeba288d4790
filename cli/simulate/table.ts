// Tables of plain text: columns as wide as their widest cell, numbers to the right.

/** Lines of a table. The first column is set to the left, the others to the right; a header may take several lines. */
export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const split = headers.map((header) => header.split('\n'));
  const height = Math.max(...split.map((lines) => lines.length));
  const headLines = Array.from({ length: height }, (_, line) =>
    split.map((lines) => lines[line - (height - lines.length)] ?? ''),
  );
  const all = [...headLines, ...rows];
  const widths = headers.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const print = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('   ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('───');
  return [...headLines.map(print), rule, ...rows.map(print)].map((line) => `${line}\n`).join('');
}

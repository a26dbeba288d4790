// What others percent-encoded; where they did not, it stands as it is, and is found to be nothing or nobody later.
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

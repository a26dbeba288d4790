// Which addresses are items. A glob is matched against the whole address and against its path without the leading slash, so that both
// `https://example.com/docs/**` and `docs/**` say the same.
import picomatch from 'picomatch';
import type { FilterSpec } from '../common/spec.ts';

export type AddressFilter = (url: string) => boolean;

export function addressFilter(spec: FilterSpec): AddressFilter {
  const include = matcher(spec.include);
  const exclude = matcher(spec.exclude);
  return (url) => {
    const { pathname, search } = new URL(url);
    const forms = [url, pathname.slice(1) + search, pathname.slice(1)];
    return (include === undefined || forms.some(include)) && (exclude === undefined || !forms.some(exclude));
  };
}

function matcher(patterns: readonly string[] | undefined): ((text: string) => boolean) | undefined {
  if (patterns === undefined || patterns.length === 0) return undefined;
  const match = picomatch(
    patterns.map((pattern) => pattern.replace(/^\//, '')),
    { dot: true, flags: 's', nonegate: true },
  );
  return (text) => match(text);
}

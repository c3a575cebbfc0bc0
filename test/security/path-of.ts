/** The same path, but of things that nobody has. */
export function pathOf(url: string, idOf: (place: string) => string | undefined): string {
  const parts = url.split('/');
  const filled = parts.map((part, at) => {
    if (!part.startsWith(':')) return part;
    const place = parts.slice(0, at + 1).join('/');
    const id = idOf(place);
    if (id !== undefined) return encodeURIComponent(id);
    throw new Error(`${url}: nobody knows how to make a real ${place}. Add it to the makers in victim.ts.`);
  });
  return filled.join('/');
}

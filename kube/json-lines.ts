/** Parses each line of a watch as JSON. A last line without a line feed is incomplete and is dropped. */
export async function* jsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  // Pieces are joined once per line, because an object of a megabyte arrives in many chunks.
  let pieces: string[] = [];
  for await (const chunk of chunks) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      const text = pieces.join('') + line;
      pieces = [];
      if (text.trim() !== '') yield JSON.parse(text);
    }
    if (rest !== '') pieces.push(rest);
  }
}

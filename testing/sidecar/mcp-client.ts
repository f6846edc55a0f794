import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

/** The official client. It checks each result against the output schema of its tool. */
export class McpTestClient {
  readonly client = new Client({ name: 'a-test', version: '1.0.0' });

  static async connect(transport: Transport): Promise<McpTestClient> {
    const connected = new McpTestClient();
    await connected.client.connect(transport);
    // The client knows the output schemas from the list.
    await connected.client.listTools();
    return connected;
  }

  async call(
    name: string,
    input: Record<string, unknown> = {},
    signal?: AbortSignal,
  ): Promise<CallToolResult> {
    return (await this.client.callTool(
      { name, arguments: input },
      undefined,
      signal && { signal },
    )) as CallToolResult;
  }

  /** The structured content of a successful call, which its text repeats. */
  async result<T = Record<string, unknown>>(name: string, input: Record<string, unknown> = {}): Promise<T> {
    const { isError, structuredContent, content } = await this.call(name, input);
    const text = textOf(content);
    if (isError === true) throw new Error(`${name} failed: ${text}`);
    if (JSON.stringify(structuredContent) !== text) throw new Error(`the text of ${name} differs: ${text}`);
    return structuredContent as T;
  }

  /** The error of a failed call. */
  async failure(name: string, input: Record<string, unknown> = {}): Promise<string> {
    const { isError, content } = await this.call(name, input);
    if (isError !== true) throw new Error(`${name} succeeded: ${textOf(content)}`);
    return textOf(content);
  }

  async resource(uri: string): Promise<string> {
    const { contents } = await this.client.readResource({ uri });
    const [content] = contents;
    return content !== undefined && 'text' in content ? String(content.text) : '';
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

function textOf(content: CallToolResult['content']): string {
  return content.map((each) => (each.type === 'text' ? each.text : '')).join('\n');
}

// `/v1/chat/completions` without a model: an object that fits the JSON schema that was asked for, filled from the text.
// Enough to try `extract` offline; it understands nothing.

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minimum?: number;
}

export function answerChat(body: unknown): { status: number; body: unknown } {
  const {
    messages,
    response_format: format,
    model,
  } = body as {
    messages?: { content?: unknown }[];
    response_format?: { json_schema?: { schema?: Schema } };
    model?: unknown;
  };
  const text = String(messages?.findLast((message) => typeof message.content === 'string')?.content ?? '');
  const schema = format?.json_schema?.schema ?? { type: 'object' };
  const content = JSON.stringify(fitting(schema, text));
  const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content } };
  return { status: 200, body: { object: 'chat.completion', model: model ?? 'fairlead', choices: [choice] } };
}

function fitting(schema: Schema, text: string): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  if (type === 'object' || schema.properties !== undefined) {
    const members = Object.entries(schema.properties ?? {});
    return Object.fromEntries(members.map(([name, member]) => [name, fitting(member, text)]));
  }
  if (type === 'array') return Array.from({ length: schema.minItems ?? 0 }, () => fitting(schema.items ?? {}, text));
  if (type === 'number' || type === 'integer') return schema.minimum ?? 0;
  if (type === 'boolean') return false;
  if (type === 'null') return null;
  return text.trim().split('\n', 1)[0]!.slice(0, 80);
}

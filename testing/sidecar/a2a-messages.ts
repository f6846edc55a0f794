import { randomUUID } from 'node:crypto';
import { Role, type Part, type SendMessageRequest } from '@a2a-js/sdk';

export const textPart = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
});
export const textOf = (part: Part | undefined): string =>
  part?.content?.$case === 'text' ? part.content.value : '';
/** A request of the SDK's client that sends one text message. */
export const messageOf = (text: string): SendMessageRequest => ({
  tenant: '',
  configuration: undefined,
  metadata: undefined,
  message: {
    messageId: randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
});

/** Codes of google.rpc.Status for the responses of the receiver. */
export const RPC_CODES = {
  invalid: 3,
  notFound: 5,
  denied: 7,
  exhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;
export type RpcCode = (typeof RPC_CODES)[keyof typeof RPC_CODES];

const MAX_MESSAGE_BYTES = 127;

/** google.rpc.Status in protobuf, the body of a failed export in `application/x-protobuf`. */
export function statusInProtobuf(code: RpcCode, message: string): Uint8Array {
  const text = new TextEncoder().encode(message).subarray(0, MAX_MESSAGE_BYTES);
  return Uint8Array.from([0x08, code, 0x12, text.length, ...text]);
}

/** google.rpc.Status in JSON. */
export const statusInJson = (code: RpcCode, message: string): string => JSON.stringify({ code, message });

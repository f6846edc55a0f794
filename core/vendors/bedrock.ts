import type { Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['AWS_BEARER_TOKEN_BEDROCK', 'AWS_ACCESS_KEY_ID'],
  // The address depends on the region, and its clients sign the host and the path of a request: a lane cannot replace them.
  api: null,
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['bedrock_converse', 'amazon-bedrock', 'amazon_bedrock', 'aws'],
  methods: [{ modules: 'boto3|aioboto3', path: '(?:converse|invoke_model)\\w*' }],
  constructors: [
    {
      language: 'javascript',
      name: /^@aws-sdk\/client-bedrock-runtime:(?:Converse|InvokeModel)\w*Command$/,
    },
  ],
  langchain: 'ChatBedrock(?:Converse)?',
};

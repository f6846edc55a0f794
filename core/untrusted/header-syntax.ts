/** A name of a header (RFC 9110 section 5.1). */
export const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** A value of a header as bytes, one character each (RFC 9110 section 5.5). */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

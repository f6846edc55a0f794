declare const PRODUCT_VERSION: string | undefined;

/** The product's version; the bundler puts package.json's in, a run from source says so. */
export const VERSION: string = typeof PRODUCT_VERSION === 'string' ? PRODUCT_VERSION : '0.0.0-source';

declare const PRODUCT_VERSION: string | undefined;

/** The product version. The bundler inserts the version of package.json; a run from source has `0.0.0-source`. */
export const VERSION: string = typeof PRODUCT_VERSION === 'string' ? PRODUCT_VERSION : '0.0.0-source';

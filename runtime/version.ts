declare const PRODUCT_VERSION: string | undefined;

/** Whether this code runs in a bundle. */
export const IS_BUNDLE: boolean = typeof PRODUCT_VERSION === 'string';

/** The product version. The bundler inserts the version of package.json; a run from source has `0.0.0-source`. */
export const VERSION: string = typeof PRODUCT_VERSION === 'string' ? PRODUCT_VERSION : '0.0.0-source';

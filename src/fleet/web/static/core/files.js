// Where the page's own files are, whatever the server has above them.

const ROOT = new URL('../', import.meta.url);

/** The address of a file of the page. @param {string} name */
export const fileAt = (name) => new URL(name, ROOT).href;

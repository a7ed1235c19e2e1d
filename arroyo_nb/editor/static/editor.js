// The editor of the cells.

/** @param {{use: (name: string) => Promise<any>, client: import('./client.js').Client}} _ */
export const editor = async (_) => ({ id: 'arroyo-nb:editor', autoStart: true, activate() {} });

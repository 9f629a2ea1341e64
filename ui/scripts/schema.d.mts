export const target: URL;
export function render(): Promise<string>;

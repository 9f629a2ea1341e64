/** The page to return to after login. Ignores addresses of other origins. */
export function safeNext(next: string | null): string {
  if (!next?.startsWith("/") || /^\/[/\\]/.test(next)) return "/";
  return next;
}

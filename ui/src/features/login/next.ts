/** The page to return to after login; only addresses of this origin count. */
export function safeNext(next: string | null): string {
  if (!next?.startsWith("/") || /^\/[/\\]/.test(next)) return "/";
  return next;
}

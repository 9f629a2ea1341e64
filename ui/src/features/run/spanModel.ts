const MODEL_CALLS = new Set(["llm", "embedding", "reranker"]);

/** The model to show beside the name of a span: that of a model call, unless the name says it. Empty for none. */
export function modelBesideName(kind: string, name: string, model: string): string {
  return MODEL_CALLS.has(kind) && !saysModel(name, model) ? model : "";
}

/** Whether a name says a model, or the shorter name by which it was asked for: "chat gpt-4o" for gpt-4o-2024-08-06. */
function saysModel(name: string, model: string): boolean {
  const full = model.toLowerCase();
  const said = name.toLowerCase();
  const words = said.split(/[\s()[\]"',:]+/);
  return (
    said.includes(full) ||
    words.some((word) => looksLikeModel(word) && full.includes(word.replace(/-latest$/, "")))
  );
}

/** Whether a word can be the name of a model. Those have letters, and a digit or a hyphen. */
function looksLikeModel(word: string): boolean {
  return /[a-z]/.test(word) && /[\d-]/.test(word);
}

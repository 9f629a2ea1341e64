/** Who made a model, by what its name begins with after the name of a host or an organization. */
const FAMILIES: readonly [RegExp, string][] = [
  [/^(gpt|chatgpt|o[1345](-|$)|davinci|text-davinci|codex)/, "OpenAI"],
  [/^claude/, "Anthropic"],
  [/^(gemini|gemma|palm)/, "Google"],
  [/^(meta-)?llama/, "Meta"],
  [/^(mistral|mixtral|ministral|codestral|magistral|pixtral)/, "Mistral"],
  [/^(qwen|qwq)/, "Alibaba"],
  [/^deepseek/, "DeepSeek"],
  [/^(command|c4ai|aya)/, "Cohere"],
  [/^grok/, "xAI"],
  [/^(amazon\.)?(nova|titan)/, "Amazon"],
  [/^phi/, "Microsoft"],
  [/^kimi/, "Moonshot"],
  [/^glm/, "Zhipu"],
];

/** The family of a model, such as "OpenAI"; null if its name doesn't say. */
export function familyOf(model: string): string | null {
  const name = model.toLowerCase().trim();
  const last = name.split(/[/:]/).find((part) => FAMILIES.some(([begin]) => begin.test(part)));
  const dotted = name.split(".").at(1) ?? "";
  return FAMILIES.find(([begin]) => begin.test(last ?? dotted))?.[1] ?? null;
}

/**
 * Why another judge would help: there is one only, all are of one family, or all are of the family of what they judge. Null if the
 * judges are of several families, and where the names of models don't say.
 */
export function familyHint(judges: readonly string[], targets: readonly string[]): string | null {
  const models = judges.filter((model) => model.trim() !== "");
  const families = models.map(familyOf);
  const [first] = families;
  const judged = targets.map(familyOf);
  if (first != null && families.every((one) => one === first) && judged.includes(first)) {
    const who = models.length === 1 ? "The judge is" : "All judges are";
    return `${who} from the ${first} family, like the model that is judged. Models tend to favour outputs of their own family.`;
  }
  if (judges.length === 1) return "With one judge, nothing says how far judges agree.";
  if (models.length > 1 && first != null && families.every((one) => one === first))
    return `All judges are from the ${first} family. They tend to make the same mistakes, so they count as fewer.`;
  return null;
}

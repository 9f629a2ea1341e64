/** Which version a program asks for. */
export type Wanted = { alias: string } | { version: number };

/** What a program has to give. */
interface Needed {
  variables: readonly string[];
  placeholders: readonly string[];
}

/** The Python program that renders a prompt and calls a model with it. */
export function pythonSnippet(name: string, wanted: Wanted, { variables, placeholders }: Needed): string {
  const which = "alias" in wanted ? `alias=${quote(wanted.alias)}` : `version=${wanted.version}`;
  // A name that is no identifier, or that render uses itself, can't be a keyword.
  const areKeywords = variables.every(
    (variable) => /^[A-Za-z_]\w*$/.test(variable) && !["variables", "placeholders"].includes(variable),
  );
  const values = areKeywords
    ? variables.map((variable) => `${variable}="…"`)
    : [`{${variables.map((variable) => `${quote(variable)}: "…"`).join(", ")}}`];
  const lists = placeholders.map((placeholder) => `${quote(placeholder)}: []`).join(", ");
  const given = [...values, ...(lists === "" ? [] : [`placeholders={${lists}}`])].join(", ");
  return `import looptrace
from openai import OpenAI

looptrace.init()

prompt = looptrace.prompt(${quote(name)}, ${which})
with prompt.render(${given}) as rendered:
    answer = OpenAI().chat.completions.create(**rendered.openai())`;
}

/** The request that finds a version by the prompt's name. */
export function curlSnippet(address: string, name: string, wanted: Wanted): string {
  const params = new URLSearchParams({ name });
  if ("alias" in wanted) params.set("alias", wanted.alias);
  else params.set("version", String(wanted.version));
  return `curl -H "Authorization: Bearer $LOOPTRACE_API_KEY" \\
  "${address}/v1/prompts/resolve?${params}"`;
}

/** A string of Python and JSON. */
function quote(text: string): string {
  return JSON.stringify(text);
}

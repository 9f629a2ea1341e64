/**
 * Renders the text of prompts, as the server and the Python SDK do. The cases in test/conformance/templates.json hold
 * all three together. The syntax is that of Mustache without partials and HTML escapes.
 */

import { isObject } from "./json";

/** What becomes of a variable without a value. */
export type Missing = "error" | "keep" | "empty";

/** An error in the text of a template. Line and column are from 1. `at` is the index in the text. */
export class TemplateSyntaxError extends Error {
  constructor(
    readonly line: number,
    readonly column: number,
    readonly at: number,
    readonly reason: string,
  ) {
    super(`line ${line}, column ${column}: ${reason}`);
  }
}

/** Variables have no value. The names are as in the tags, in order of appearance. */
export class MissingVariablesError extends Error {
  constructor(readonly names: string[]) {
    super(`no value for ${names.join(", ")}`);
  }
}

/** A tag in the text of a template, from the index `from` up to `to`. */
export interface TemplateTag {
  from: number;
  to: number;
  /** The first part of the name; null for comments, delimiters and "." */
  variable: string | null;
}

/** The tags of a text, up to its first error. */
export function scan(text: string): { tags: TemplateTag[]; error: TemplateSyntaxError | null } {
  const parser = new Parser(text);
  try {
    parser.nodes("", 0);
    return { tags: parser.tags, error: null };
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error;
    return { tags: parser.tags, error };
  }
}

interface Node {
  /** "t" text, "v" variable, "#" section, "^" inverted section. */
  kind: string;
  text?: string;
  path: string[];
  source: string;
  children: Node[];
}

interface Tag {
  kind: string;
  end: number;
  name: string;
  path: string[];
}

/** The text with the variables filled in. Values are those of JSON.parse; texts are inserted and never parsed. */
export function render(text: string, variables: Record<string, unknown>, missing: Missing = "error"): string {
  const renderer = new Renderer(variables, missing);
  renderer.render(new Parser(text).nodes("", 0));
  if (missing === "error" && renderer.absent.length > 0) throw new MissingVariablesError(renderer.absent);
  return renderer.out;
}

const maxDepth = 50;

const partOfName = /^[\p{L}\p{N}\p{M}_-]+$/u;

// Not \s and trim: these take the byte order mark for white space, and U+0085 not.
const withoutSpaceAround = /\P{White_Space}(?:.*\P{White_Space})?/su;
const delimiters =
  /^=\p{White_Space}*([^\p{White_Space}=]+)\p{White_Space}+([^\p{White_Space}=]+)\p{White_Space}*=$/u;

class Parser {
  readonly tags: TemplateTag[] = [];
  private at = 0;
  private open = "{{";
  private close = "}}";
  private depth = 0;

  constructor(private readonly text: string) {}

  private fail(at: number, message: string): TemplateSyntaxError {
    const before = this.text.slice(0, at);
    const column = [...before.slice(before.lastIndexOf("\n") + 1)].length + 1;
    return new TemplateSyntaxError(before.split("\n").length, column, at, message);
  }

  /** Parses up to the tag that closes the section, or up to the end without one. */
  nodes(section: string, start: number): Node[] {
    const list: Node[] = [];
    for (;;) {
      const begin = this.text.indexOf(this.open, this.at);
      if (begin < 0) {
        if (section !== "") throw this.fail(start, `the section ${section} is not closed`);
        appendText(list, this.text.slice(this.at));
        return list;
      }
      const tag = this.tag(begin);
      this.tags.push({ from: begin, to: tag.end, variable: tag.path[0] ?? null });
      let text = this.text.slice(this.at, begin);
      this.at = tag.end;
      if (tag.kind !== "v") {
        const alone = this.alone(begin, tag.end);
        if (alone) {
          if (text.endsWith(alone.before)) text = text.slice(0, text.length - alone.before.length);
          this.at = alone.after;
        }
      }
      appendText(list, text);
      switch (tag.kind) {
        case "/":
          if (tag.name !== section) {
            throw this.fail(
              begin,
              section === ""
                ? `${tag.name} closes a section that is not open`
                : `${tag.name} closes the section ${section}`,
            );
          }
          return list;
        case "#":
        case "^": {
          if (++this.depth > maxDepth) {
            throw this.fail(begin, `sections are nested more than ${maxDepth} deep`);
          }
          const children = this.nodes(tag.name, begin);
          this.depth--;
          const source = this.text.slice(begin, this.at);
          list.push({ kind: tag.kind, path: tag.path, source, children });
          break;
        }
        case "v":
          list.push({ kind: "v", path: tag.path, source: this.text.slice(begin, tag.end), children: [] });
      }
    }
  }

  private tag(begin: number): Tag {
    let inner = begin + this.open.length;
    let close = this.close;
    const triple = this.open === "{{" && this.text.startsWith("{", inner);
    if (triple) {
      inner++;
      close = "}}}";
    }
    const stop = this.text.indexOf(close, inner);
    if (stop < 0) throw this.fail(begin, `the tag is not closed; ${close} is missing`);
    const content = this.text.slice(inner, stop);
    const end = stop + close.length;
    if (triple) return this.named("v", content, begin, end);
    switch (content[0]) {
      case undefined:
        throw this.fail(begin, "the tag is empty");
      case "!":
        return { kind: "!", end, name: "", path: [] };
      case "=":
        return this.delimiters(content, begin, end);
      case ">":
        throw this.fail(begin, "partials are not supported; put the text in its place");
      case "&":
        return this.named("v", content.slice(1), begin, end);
      case "#":
      case "^":
      case "/":
        return this.named(content[0], content.slice(1), begin, end);
      default:
        return this.named("v", content, begin, end);
    }
  }

  private delimiters(content: string, begin: number, end: number): Tag {
    const parts = delimiters.exec(content);
    if (!parts?.[1] || !parts[2]) {
      throw this.fail(begin, "a change of delimiters has the form {{=<% %>=}}");
    }
    this.open = parts[1];
    this.close = parts[2];
    return { kind: "=", end, name: "", path: [] };
  }

  private named(kind: string, text: string, begin: number, end: number): Tag {
    const name = withoutSpaceAround.exec(text)?.[0] ?? "";
    if (name === ".") return { kind, end, name, path: [] };
    const path = name.split(".");
    if (!path.every((part) => partOfName.test(part))) {
      const change = `${this.open}=<% %>=${this.close}`;
      throw this.fail(
        begin,
        `${JSON.stringify(name)} is not a name; to write ${this.open} as text, change the delimiters with ${change}`,
      );
    }
    return { kind, end, name, path };
  }

  /** The space before a tag that is alone on its line, and the position after the line. */
  private alone(begin: number, end: number): { before: string; after: number } | undefined {
    // Not from the start of the line: that would read one very long line of tags again for each tag.
    let start = begin;
    while (start > 0 && isBlank(this.text[start - 1])) start--;
    if (start > 0 && this.text[start - 1] !== "\n") return undefined;
    const rest = /[ \t]*(\r?\n|$)/y;
    rest.lastIndex = end;
    return rest.test(this.text)
      ? { before: this.text.slice(start, begin), after: rest.lastIndex }
      : undefined;
  }
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

function appendText(list: Node[], text: string): void {
  if (text !== "") list.push({ kind: "t", text, path: [], source: text, children: [] });
}

/** A value in which names are looked up: the variables, the value of a section, or an item of it. */
interface Scope {
  value: unknown;
  /** The scope that has the value of the section, by its name. */
  within: number;
  name: string[];
  /** The number of the item; null for none. */
  number: number | null;
}

class Renderer {
  out = "";
  /** By the name without the numbers of items. */
  private readonly missed = new Map<string, string>();
  private readonly stack: Scope[];

  constructor(
    variables: Record<string, unknown>,
    private readonly missing: Missing,
  ) {
    this.stack = [{ value: variables, within: 0, name: [], number: null }];
  }

  get absent(): string[] {
    return [...this.missed.values()];
  }

  render(nodes: Node[]): void {
    for (const node of nodes) {
      if (node.text !== undefined) {
        this.out += node.text;
        continue;
      }
      const { found, within } = this.lookup(node.path);
      if (!found) {
        const place = this.nameOf(within, node.path, false);
        if (!this.missed.has(place)) this.missed.set(place, this.nameOf(within, node.path, true));
        if (this.missing === "keep") {
          this.out += node.source;
          continue;
        }
      }
      const value = found?.value;
      if (node.kind === "v") {
        this.out += textOf(value);
      } else if (node.kind === "#") {
        if (truthy(value)) {
          const isList = Array.isArray(value);
          for (const [number, item] of (isList ? value : [value]).entries()) {
            this.stack.push({ value: item, within, name: node.path, number: isList ? number : null });
            this.render(node.children);
            this.stack.pop();
          }
        }
      } else if (!truthy(value) && (found || this.missing !== "error")) {
        this.render(node.children);
      }
    }
  }

  /** The name of a value within a scope, as its place in the variables: items.1.name. */
  private nameOf(within: number, path: string[], hasNumbers: boolean): string {
    const scope = this.stack[within];
    if (!scope || within === 0) return path.join(".");
    const number = hasNumbers && scope.number !== null ? [String(scope.number)] : [];
    return this.nameOf(scope.within, [...scope.name, ...number, ...path], hasNumbers);
  }

  /**
   * The value, if it was found, and the scope that has it. A value that was not found belongs to the scope that has the
   * first part of its name; else to the innermost item of a list that has members, or to the variables.
   */
  private lookup(path: string[]): { found: { value: unknown } | undefined; within: number } {
    const [first, ...others] = path;
    const top = this.stack.length - 1;
    if (first === undefined) return { found: { value: this.stack[top]?.value }, within: top };
    let within = 0;
    for (const [i, scope] of [...this.stack.entries()].reverse()) {
      let found = member(scope.value, first);
      if (!found) {
        if (within === 0 && scope.number !== null && isObject(scope.value)) within = i;
        continue;
      }
      for (const name of others) {
        found = member(found.value, name);
        if (!found) return { found: undefined, within: i };
      }
      return { found, within: i };
    }
    return { found: undefined, within };
  }
}

function member(value: unknown, name: string): { value: unknown } | undefined {
  if (Array.isArray(value)) {
    const index = /^(0|[1-9]\d{0,8})$/.test(name) ? Number(name) : value.length;
    return index < value.length ? { value: value[index] } : undefined;
  }
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return { value: (value as Record<string, unknown>)[name] };
}

function truthy(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === "") return false;
  return !Array.isArray(value) || value.length > 0;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : canonical(value);
}

/** A value as canonical JSON, RFC 8785. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
    return `{${members.join(",")}}`;
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new TypeError("integers beyond 2^53 lose digits in JSON; pass the value as text");
  }
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError(`the number ${value} is not JSON`);
  return JSON.stringify(value);
}

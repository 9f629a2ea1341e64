import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter } from "@codemirror/lint";
import { Compartment, EditorState, type Extension, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  keymap,
  placeholder as placeholderText,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { scan } from "./template";

interface Props {
  /** Names the field for screen readers. */
  label: string;
  value: string;
  onChange?: (value: string) => void;
  /** A template has variables, which are marked and completed; names are completed in an expression, too. */
  language: "template" | "expression" | "json" | "text";
  /** Names to complete. */
  variables?: readonly string[];
  placeholder?: string;
  minHeight?: number;
  maxHeight?: number;
  /** Takes the focus when it is first shown. */
  autoFocus?: boolean;
}

/** A text field for prompts and JSON. Without `onChange` it is read-only. */
export default function CodeEditor(props: Props) {
  const { label, value, onChange, language, variables = [], placeholder = "" } = props;
  const { minHeight = 60, maxHeight = 480, autoFocus = false } = props;
  const target = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  // The editor lives longer than a render.
  const latest = useRef({ value, onChange, variables, label, placeholder });
  useEffect(() => {
    latest.current = { value, onChange, variables, label, placeholder };
  });
  const initial = useRef({ value, autoFocus });
  const names = useRef(new Compartment());
  const readOnly = onChange === undefined;

  useEffect(() => {
    if (!target.current) return;
    const editor = new EditorView({
      parent: target.current,
      state: EditorState.create({
        doc: initial.current.value,
        extensions: [
          names.current.of(named(latest.current.label, latest.current.placeholder)),
          history(),
          EditorView.lineWrapping,
          EditorState.readOnly.of(readOnly),
          EditorState.tabSize.of(2),
          keymap.of([
            ...completionKeymap,
            ...historyKeymap,
            // Ctrl+Enter belongs to the page.
            ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
          ]),
          theme,
          EditorView.theme({ ".cm-scroller": { minHeight: `${minHeight}px`, maxHeight: `${maxHeight}px` } }),
          languageOf(language, () => latest.current.variables),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const text = update.state.doc.toString();
            if (text !== latest.current.value) latest.current.onChange?.(text);
          }),
        ],
      }),
    });
    view.current = editor;
    if (initial.current.autoFocus) editor.focus();
    return () => {
      initial.current = { value: editor.state.doc.toString(), autoFocus: false };
      editor.destroy();
    };
  }, [language, readOnly, minHeight, maxHeight]);

  useEffect(() => {
    view.current?.dispatch({ effects: names.current.reconfigure(named(label, placeholder)) });
  }, [label, placeholder]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const before = editor.state.doc.toString();
    // The editor knows only one kind of line break.
    if (before === value.replace(/\r\n?/g, "\n")) return;
    editor.dispatch({ changes: { from: 0, to: before.length, insert: value } });
  }, [value]);

  return <div ref={target} />;
}

/** The name of the field, and what it shows while it is empty. */
function named(label: string, placeholder: string): Extension {
  return [
    // An editable element takes the focus anyway, but not every tool knows that.
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    placeholder === "" ? [] : placeholderText(placeholder),
  ];
}

function languageOf(language: Props["language"], variables: () => readonly string[]): Extension {
  if (language === "json") {
    const check = jsonParseLinter();
    return [
      json(),
      closeBrackets(),
      syntaxHighlighting(colors),
      linter((view) => (view.state.doc.toString().trim() === "" ? [] : check(view)), { delay: 300 }),
    ];
  }
  if (language === "text") return [];
  if (language === "expression") {
    return [
      closeBrackets(),
      autocompletion({ override: [(context) => completeName(context, variables())], icons: false }),
    ];
  }
  return [
    templateTags,
    linter((view) => templateErrors(view.state), { delay: 200 }),
    autocompletion({ override: [(context) => complete(context, variables())], icons: false }),
  ];
}

function templateErrors(state: EditorState): Diagnostic[] {
  const { error } = scan(state.doc.toString());
  if (!error) return [];
  const to = Math.min(state.doc.length, state.doc.lineAt(error.at).to, error.at + 2);
  return [{ from: Math.min(error.at, to), to, severity: "error", message: error.message }];
}

function complete(context: CompletionContext, variables: readonly string[]): CompletionResult | null {
  const typed = context.matchBefore(/\{\{[{#^/&]?\s*[\p{L}\p{N}\p{M}_.-]*/u);
  if (!typed) return null;
  const name = /[\p{L}\p{N}\p{M}_.-]*$/u.exec(typed.text)?.[0] ?? "";
  const close = typed.text.startsWith("{{{") ? "}}}" : "}}";
  return {
    from: context.pos - name.length,
    options: variables.map((label) => ({
      label,
      apply: (view, _, from, to) => {
        const rest = view.state.sliceDoc(to, to + close.length);
        const insert = rest === close ? label : label + close;
        view.dispatch({
          changes: { from, to, insert },
          selection: { anchor: from + label.length + close.length },
        });
      },
    })),
    validFor: /^[\p{L}\p{N}\p{M}_.-]*$/u,
  };
}

function completeName(context: CompletionContext, names: readonly string[]): CompletionResult | null {
  // A member of a value, such as metadata.input, is none of the names.
  const typed = context.matchBefore(/(?<![\w.])[A-Za-z_]\w*/);
  if (!typed && !context.explicit) return null;
  return {
    from: typed?.from ?? context.pos,
    options: names.map((label) => ({ label })),
    validFor: /^\w*$/,
  };
}

const tagMark = Decoration.mark({ class: "cm-template-tag" });

/** Marks the tags of a template. */
const templateTags = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = tagsOf(view.state);
    }

    update(update: ViewUpdate) {
      if (update.docChanged) this.decorations = tagsOf(update.state);
    }
  },
  { decorations: ({ decorations }) => decorations },
);

function tagsOf(state: EditorState): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of scan(state.doc.toString()).tags) builder.add(from, to, tagMark);
  return builder.finish();
}

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--lt-accent-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--lt-text)", fontWeight: "600" },
  { tag: [tags.punctuation, tags.brace, tags.squareBracket, tags.separator], color: "var(--lt-dim)" },
]);

// The variables have other values in light and dark.
const theme = EditorView.theme({
  "&": {
    fontSize: "var(--mantine-font-size-xs)",
    color: "var(--lt-text)",
    backgroundColor: "var(--lt-bg)",
    border: "1px solid var(--mantine-color-default-border)",
    borderRadius: "var(--mantine-radius-sm)",
  },
  "&.cm-focused": { outline: "2px solid var(--lt-accent)", outlineOffset: "-1px" },
  ".cm-scroller": {
    overflow: "auto",
    fontFamily: "var(--mantine-font-family-monospace)",
    lineHeight: "1.6",
  },
  ".cm-content": { padding: "6px 0", caretColor: "var(--lt-text)" },
  ".cm-line": { padding: "0 10px" },
  ".cm-cursor": { borderLeftColor: "var(--lt-text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection": {
    backgroundColor: "color-mix(in srgb, var(--lt-accent) 25%, transparent) !important",
  },
  ".cm-placeholder": { color: "var(--lt-dim)" },
  ".cm-template-tag": {
    color: "var(--lt-accent-text)",
    backgroundColor: "var(--lt-bg-selected)",
    borderRadius: "3px",
  },
  ".cm-tooltip": {
    color: "var(--lt-text)",
    backgroundColor: "var(--lt-bg)",
    border: "1px solid var(--lt-border-strong)",
    borderRadius: "var(--mantine-radius-sm)",
    overflow: "hidden",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mantine-font-family-monospace)" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--lt-text)",
    backgroundColor: "var(--lt-bg-selected)",
  },
  ".cm-diagnostic": { fontFamily: "var(--mantine-font-family)", padding: "4px 8px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--lt-error)" },
});

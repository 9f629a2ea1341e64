import type { Span } from "@/api/types";

/** What the tree needs of a span. */
export type TreeSpan = Pick<Span, "span_id" | "parent_span_id" | "start_time" | "status">;

export interface Node<S extends TreeSpan = Span> {
  span: S;
  parent: Node<S> | null;
  children: Node<S>[];
  depth: number;
  /** Failed spans below this one. */
  errorsBelow: number;
}

export interface Tree<S extends TreeSpan = Span> {
  roots: Node<S>[];
  /** Every node, each parent before its children, siblings in start order. */
  order: Node<S>[];
  byId: Map<string, Node<S>>;
}

/**
 * Builds the tree of a run's spans. A span whose parent is not there counts as a root; parents that form a circle are
 * cut where the circle starts, so that every span stands in the tree exactly once.
 */
export function buildTree<S extends TreeSpan>(spans: readonly S[]): Tree<S> {
  const byId = new Map<string, Node<S>>();
  for (const span of spans) {
    byId.set(span.span_id, { span, parent: null, children: [], depth: 0, errorsBelow: 0 });
  }
  const roots: Node<S>[] = [];
  for (const node of byId.values()) {
    const parent = node.span.parent_span_id === null ? undefined : byId.get(node.span.parent_span_id);
    if (parent && parent !== node) parent.children.push(node);
    else roots.push(node);
  }

  const order: Node<S>[] = [];
  const placed = new Set<Node<S>>();
  roots.sort(byStart);
  for (const root of roots) place(root, order, placed);
  for (const node of byId.values()) {
    if (placed.has(node)) continue;
    roots.push(node);
    place(node, order, placed);
  }
  for (const node of order.toReversed()) {
    if (!node.parent) continue;
    node.parent.errorsBelow += node.errorsBelow + (node.span.status === "error" ? 1 : 0);
  }
  return { roots, order, byId };
}

// Without recursion: a chain of 10,000 spans is deeper than the stack.
function place<S extends TreeSpan>(root: Node<S>, order: Node<S>[], placed: Set<Node<S>>) {
  const stack = [root];
  placed.add(root);
  for (let node = stack.pop(); node; node = stack.pop()) {
    order.push(node);
    node.children = node.children.filter((child) => !placed.has(child)).sort(byStart);
    for (const child of node.children.toReversed()) {
      child.parent = node;
      child.depth = node.depth + 1;
      placed.add(child);
      stack.push(child);
    }
  }
}

function byStart(a: Node<TreeSpan>, b: Node<TreeSpan>): number {
  return compare(a.span.start_time, b.span.start_time) || compare(a.span.span_id, b.span.span_id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The nodes to show: those under a closed one are left out. */
export function visibleNodes<S extends TreeSpan>(tree: Tree<S>, closed: ReadonlySet<string>): Node<S>[] {
  if (closed.size === 0) return tree.order;
  const out: Node<S>[] = [];
  let hiddenBelow = Number.POSITIVE_INFINITY;
  for (const node of tree.order) {
    if (node.depth > hiddenBelow) continue;
    hiddenBelow = closed.has(node.span.span_id) ? node.depth : Number.POSITIVE_INFINITY;
    out.push(node);
  }
  return out;
}

/** Where failure began: of the failed spans with no failed span below them, the one that started first. */
export function firstFailure<S extends TreeSpan>(tree: Tree<S>): Node<S> | undefined {
  let first: Node<S> | undefined;
  for (const node of tree.order) {
    if (node.span.status !== "error" || node.errorsBelow > 0) continue;
    if (!first || byStart(node, first) < 0) first = node;
  }
  return first;
}

/** The failed span after (step 1) or before (step -1) the given one, around the end. */
export function neighbourError<S extends TreeSpan>(
  tree: Tree<S>,
  from: string | undefined,
  step: 1 | -1,
): Node<S> | undefined {
  const errors = tree.order.filter((node) => node.span.status === "error");
  if (errors.length === 0) return undefined;
  const at = tree.order.findIndex((node) => node.span.span_id === from);
  const position = new Map(tree.order.map((node, index) => [node, index]));
  const isBeyond = (node: Node<S>) => {
    const index = position.get(node) ?? 0;
    return step === 1 ? index > at : index < at;
  };
  return step === 1 ? (errors.find(isBeyond) ?? errors[0]) : (errors.findLast(isBeyond) ?? errors.at(-1));
}

/** The closed set without what hides a node. */
export function reveal<S extends TreeSpan>(node: Node<S>, closed: ReadonlySet<string>): ReadonlySet<string> {
  const next = new Set(closed);
  for (let above = node.parent; above; above = above.parent) next.delete(above.span.span_id);
  return next.size === closed.size ? closed : next;
}

/** By how many rows a new list moved what is on the screen: the selected row where it is in view, else the first one. */
export function rowsPushed<S extends TreeSpan>(
  before: readonly Node<S>[],
  after: readonly Node<S>[],
  selectedId: string | undefined,
  top: number,
  height: number,
): number {
  const first = Math.floor(top);
  const inView = before.slice(first, Math.ceil(top + height));
  const anchor = inView.find((node) => node.span.span_id === selectedId) ?? inView[0];
  if (!anchor || (first === 0 && anchor === inView[0])) return 0;
  const now = after.findIndex((node) => node.span.span_id === anchor.span.span_id);
  return now < 0 ? 0 : now - before.indexOf(anchor);
}

import { expect, it } from "vitest";
import { pageOf } from "./pages";

it.each([
  ["/p/1/runs/0199a1b2", "runs"],
  ["/p/1/settings", "settings"],
  ["/p/1/settings/keys", "settings/keys"],
  ["/p/1/settings/members", "settings/members"],
  ["/p/1/prompts/by-name", "prompts"],
  ["/p/1/datasets/0199a1b2/import", "datasets"],
  ["/account", undefined],
  ["/p/1/settingsx", undefined],
  ["/p/1/comparisons/new", "comparisons"],
  ["/p/1/eval-runs/0199a1b2", "eval-runs"],
  ["/p/1/rules/0199a1b2/edit", "rules"],
  ["/p/1/replay-batches/0199a1b2", "replays"],
  ["/p/1/diagnoses/0199a1b2", "failures"],
  ["/p/1/diff/a/b", undefined],
])("%s belongs to %s", (pathname, want) => expect(pageOf(pathname)?.path).toBe(want));
